// Whose limit it is: the rule and the values that identify the caller under it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice {

// 128 bits under a secret seed of this process: what the memory table knows of a key.
struct KeyHash {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(KeyHash, KeyHash) = default;
};

// The parts from which a store forms its own name of the key. Borrowed from the request.
struct Key {
  std::string_view rule;                       // RuleLimit::id
  std::uint64_t rule_hash = 0;                 // RuleLimit::id_hash
  std::span<const std::string_view> identity;  // One value each entry, in order; any bytes.
};

}  // namespace sluice
