// Fixed window: a count that starts anew at each multiple of the period in Unix time. Two windows
// meet at an edge, so up to twice the limit may pass in one period's length; within a window never
// more. state.rest_at is the live window's end on the steady line (a step of the wall clock moves
// only windows that have not begun), the payload its count. A changed limit is compared with the
// count as it stands. Pure: no clock, no lock, no allocation.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sluice/algorithm/limit_plan.h"
#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/state.h"

namespace sluice {

// The end of the window that now lies in: the next multiple of the period in wall time.
constexpr Instant window_end(Instant now, Duration period, Duration wall_offset) noexcept {
  std::int64_t elapsed = saturating_add(now.ns, wall_offset.count()) % period.count();
  if (elapsed < 0) elapsed += period.count();
  return now + (period - Duration{elapsed});
}

// Counts stop at 2^32 - 1.
constexpr std::uint32_t add_to_count(std::uint64_t count, Cost cost) noexcept {
  return static_cast<std::uint32_t>(std::min(count + std::min(cost, kCostMax), kCostMax));
}

}  // namespace sluice

namespace sluice::fixed_window {

// Hits counted in the window that now lies in.
constexpr std::uint32_t count(const State& state, Instant now) noexcept {
  return state.is_at_rest(now) ? 0 : static_cast<std::uint32_t>(state.payload);
}

// How long until `cost` would pass: 0 now, kNever if it can never fit. Overdraft is not looked at.
constexpr Duration wait(const State& state, const LimitPlan& plan, Cost cost,
                        Instant now) noexcept {
  if (cost == 0) return Duration{0};
  if (cost > plan.limit.requests) return kNever;
  return count(state, now) + cost <= plan.limit.requests ? Duration{0} : state.rest_at - now;
}

constexpr void charge(State& state, const LimitPlan& plan, Cost cost, Instant now,
                      Duration wall_offset) noexcept {
  if (cost == 0) return;
  const std::uint32_t before = count(state, now);
  if (state.is_at_rest(now)) state.rest_at = window_end(now, plan.limit.period, wall_offset);
  state.payload = add_to_count(before, cost);
}

// Charges the cost if it fits; the lean form of take(). Neither overdraft nor count_denied is
// looked at.
constexpr bool try_take(State& state, const LimitPlan& plan, Cost cost, Instant now,
                        Duration wall_offset) noexcept {
  const std::uint32_t before = count(state, now);
  if (cost > 0 && (cost > plan.limit.requests || before > plan.limit.requests - cost)) return false;
  charge(state, plan, cost, now, wall_offset);
  return true;
}

// What take() would answer, but for the charge. Under overdraft this is the question that take()
// no longer asks: whether the cost fits without new debt, or for cost 0 whether there is none.
constexpr Decision peek(const State& state, const LimitPlan& plan, Cost cost,
                        Instant now) noexcept {
  const std::uint32_t counted = count(state, now);
  Decision decision;
  decision.limit = plan.limit.requests;
  decision.remaining = plan.limit.requests - std::min(counted, plan.limit.requests);
  decision.reset_after = counted > 0 ? state.rest_at - now : Duration{0};
  decision.retry_after = wait(state, plan, cost, now);
  if (cost == 0 && plan.limit.overdraft && counted > plan.limit.requests &&
      plan.limit.requests > 0) {
    decision.retry_after = state.rest_at - now;
  }
  if (decision.retry_after > Duration{0}) decision.verdict = Verdict::denied;
  return decision;
}

// Decides and charges: when allowed, under count_denied also when refused. Under overdraft every
// positive cost up to kCostMax is allowed; the debt ends with the window. At requests 0 none is.
constexpr Decision take(State& state, const LimitPlan& plan, Cost cost, Instant now,
                        Duration wall_offset) noexcept {
  const Decision asked = peek(state, plan, cost, now);
  const bool is_allowed = asked.verdict == Verdict::allowed || overdraws(plan, cost);
  if (!is_allowed && !plan.limit.count_denied) return asked;
  charge(state, plan, cost, now, wall_offset);
  return charged_decision(asked, peek(state, plan, 0, now), is_allowed);
}

// Takes cost off the live window's count, to at least 0; an earlier window is gone.
constexpr void refund(State& state, Cost cost, Instant now) noexcept {
  if (cost == 0) return;
  const std::uint32_t counted = count(state, now);
  if (cost >= counted) {
    state = {};
  } else {
    state.payload = counted - cost;
  }
}

}  // namespace sluice::fixed_window
