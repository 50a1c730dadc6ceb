// The state of one key: 16 bytes, for every algorithm. All zero bits are a key never seen.
#pragma once

#include <cstdint>

#include "sluice/vocabulary/time.h"

namespace sluice {

struct State {
  Instant rest_at;  // From here on the key equals one never seen. Never negative.
  std::uint64_t payload =
      0;  // The algorithm's own: fraction and generation, counts, or a slab handle.

  constexpr bool is_at_rest(Instant now) const noexcept { return rest_at <= now; }
};

static_assert(sizeof(State) == 16);

}  // namespace sluice
