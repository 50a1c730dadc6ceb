// A limit made ready to decide: its numbers, the generation under which states remember them, and
// what can be worked out once instead of at each decision.
#pragma once

#include <cstdint>

#include "sluice/vocabulary/limit.h"

namespace sluice {

struct LimitPlan {
  Limit limit;
  std::uint32_t generation = 0;  // Same numbers, same generation; see limit_generations.h.
};

}  // namespace sluice
