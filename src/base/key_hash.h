// From a key to the 128 bits under which memory knows it: XXH3 with a secret drawn at random, so
// that nobody outside can aim two keys at one slot. Values are hashed with their lengths before
// them: (a, bc) and (ab, c) never meet. Allocates nothing; any bytes, any length. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sluice/vocabulary/key.h"
#include "sluice/vocabulary/wide.h"

namespace sluice {

class KeySeed {
 public:
  KeySeed() noexcept;  // Random.

  KeyHash hash(const Key& key) const noexcept;
  KeyHash hash(std::string_view bytes) const noexcept;

  // For programs whose keys are numbers already. Numbers in a row are a lattice after the first
  // multiplication; the second ones break it.
  KeyHash hash(std::uint64_t number) const noexcept {
    const std::uint64_t mixed = fold(number ^ numbers_[0], numbers_[1]);
    return {fold(mixed ^ numbers_[2], numbers_[3]), fold(mixed ^ numbers_[4], numbers_[5])};
  }

 private:
  static std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
    const Wide product = Wide{a} * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  std::array<std::byte, 192> secret_;
  std::array<std::uint64_t, 6> numbers_;  // Every other one is odd: a multiplier.
};

// The seed of this process, drawn when first asked for.
const KeySeed& process_key_seed() noexcept;

// The hash that Charge::hash carries.
inline KeyHash hash_key(const Key& key) noexcept {
  return process_key_seed().hash(key);
}

}  // namespace sluice
