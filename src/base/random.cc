#include "base/random.h"

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

namespace sluice {

void fill_random(std::span<std::byte> bytes) noexcept {
  constexpr std::size_t kAtOnceMax = 256;  // What getentropy() gives in one call.
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), kAtOnceMax);
    if (::getentropy(bytes.data(), count) != 0) std::abort();
    bytes = bytes.subspan(count);
  }
}

std::uint64_t random_bits() noexcept {
  std::uint64_t bits = 0;
  fill_random(std::as_writable_bytes(std::span{&bits, 1}));
  return bits;
}

}  // namespace sluice
