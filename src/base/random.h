// Bytes that nobody can guess, from the kernel's generator: hash seeds and permit ids. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice {

// Fills `bytes`, of any length. Ends the process when the kernel has no generator, which no
// supported kernel lacks: going on with guessable seeds would be worse.
void fill_random(std::span<std::byte> bytes) noexcept;

// 64 random bits.
std::uint64_t random_bits() noexcept;

}  // namespace sluice
