// block_for: once a limit has refused, its key is refused for a time, whatever the limit itself
// would say. The block is a state of its own beside the limit's: rest_at is its end, the payload
// is free. While it runs the limit is not asked to charge, and hits do not prolong it. A refusal
// without end (`never`) begins no block. Pure: no clock, no lock, no allocation.
#pragma once

#include <algorithm>

#include "sluice/algorithm/limit_plan.h"
#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/state.h"

namespace sluice::block_for {

// What a key's other state is hashed under, beside LimitPlan::state_kind.
inline constexpr std::uint64_t kStateKind = 0x626c6f636b5f666fU;

constexpr bool is_blocked(const State& block, Instant now) noexcept {
  return !block.is_at_rest(now);
}

// Begins a block when the limit's own decision calls for one. Requires !is_blocked().
constexpr void begin(State& block, const LimitPlan& plan, const Decision& own,
                     Instant now) noexcept {
  if (plan.limit.block_for > Duration{0} && own.verdict == Verdict::denied &&
      own.retry_after != kNever) {
    block.rest_at = now + plan.limit.block_for;
  }
}

// The answer under a block, from what the limit itself would say (its peek). Cost 0 still passes:
// it asks for nothing.
constexpr Decision blocked_decision(const State& block, const Decision& own, Cost cost,
                                    Instant now) noexcept {
  const Duration left = block.rest_at - now;
  Decision decision = own;
  decision.remaining = 0;
  decision.reset_after = std::max(own.reset_after, left);
  if (cost == 0) return decision;
  decision.verdict = Verdict::denied;
  decision.retry_after = std::max(own.retry_after, left);
  decision.delay = Duration{0};
  return decision;
}

}  // namespace sluice::block_for
