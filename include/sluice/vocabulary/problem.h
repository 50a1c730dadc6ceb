// What is wrong in a file someone wrote, and where: shown as `file:line: message`.
#pragma once

#include <cstdint>
#include <string>

namespace sluice {

struct Problem {
  std::string file;        // Empty: not from a file (a flag, the environment, rules built in code).
  std::uint32_t line = 0;  // From 1; 0: the file as a whole.
  std::string message;

  friend bool operator==(const Problem&, const Problem&) = default;
};

}  // namespace sluice
