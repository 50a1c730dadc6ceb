// Writes one object of JSON on one line, member by member, numbers in plain decimals.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::load {

class JsonLine {
 public:
  JsonLine& member(std::string_view name, std::uint64_t value);
  JsonLine& member(std::string_view name, double value);  // Finite.
  JsonLine& member(std::string_view name, bool value);
  JsonLine& member(std::string_view name, std::string_view text);
  // An object or array that was written elsewhere.
  JsonLine& raw(std::string_view name, std::string_view json);

  std::string text() const { return "{" + members_ + "}"; }

 private:
  void name(std::string_view name);

  std::string members_;
};

// Quoted; always valid JSON (append_json_string).
std::string json_string(std::string_view text);

}  // namespace sluice::load
