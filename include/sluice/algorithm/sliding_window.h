// Sliding window counter: the count of the window that now lies in, plus the previous window's
// count weighted by how much of it the last period still covers. The estimate is an exact rational;
// what it estimates is not: it takes the previous hits as evenly spread, so hits crowded at an edge
// may let through up to twice the limit in one period's length (sub_windows.h and sliding_log.h
// never do). Windows lie as in fixed_window.h.
//
// The payload is previous << 32 | current. rest_at is when both weigh nothing: the end of the next
// window when current > 0, else of the live one, from which the live window's end follows.
// Pure: no clock, no lock, no allocation.
#pragma once

#include "sluice/algorithm/fixed_window.h"
#include "sluice/vocabulary/wide.h"

namespace sluice::sliding_window {

// What a state says about the window that now lies in. At rest: no counts, end meaningless.
struct Counts {
  Instant end;
  std::uint32_t previous = 0;
  std::uint32_t current = 0;
};

constexpr Counts counts(const State& state, const LimitPlan& plan, Instant now) noexcept {
  if (state.is_at_rest(now)) return {};
  const auto previous = static_cast<std::uint32_t>(state.payload >> 32);
  const auto current = static_cast<std::uint32_t>(state.payload);
  if (current == 0) return {state.rest_at, previous, 0};
  const Instant end = state.rest_at - plan.limit.period;
  return now < end ? Counts{end, previous, current} : Counts{state.rest_at, current, 0};
}

namespace detail {

// How much of the live window is left: the previous one's weight. A now before it counts as its
// start.
constexpr std::int64_t left(const Counts& seen, const LimitPlan& plan, Instant now) noexcept {
  return std::min(seen.end - now, plan.limit.period).count();
}

// When `cost` fits: now, or later. Requires cost <= limit.requests.
constexpr Instant when_fits(const Counts& seen, const LimitPlan& plan, Cost cost,
                            Instant now) noexcept {
  const Wide period = static_cast<std::uint64_t>(plan.limit.period.count());
  const std::uint64_t room = plan.limit.requests - cost;
  if (seen.current <= room) {
    // previous * left <= (room - current) * period, once `left` is small enough.
    const Wide spare = (room - seen.current) * period;
    const auto live = static_cast<std::uint64_t>(left(seen, plan, now));
    if (Wide{seen.previous} * live <= spare) return now;
    return seen.end - Duration{static_cast<std::int64_t>(spare / seen.previous)};
  }
  // Only in the next window, where today's current is the previous.
  return seen.end + plan.limit.period -
         Duration{static_cast<std::int64_t>(room * period / seen.current)};
}

}  // namespace detail

// How long until `cost` would pass: 0 now, kNever if it can never fit. Overdraft is not looked at.
constexpr Duration wait(const State& state, const LimitPlan& plan, Cost cost,
                        Instant now) noexcept {
  if (cost == 0) return Duration{0};
  if (cost > plan.limit.requests) return kNever;
  return detail::when_fits(counts(state, plan, now), plan, cost, now) - now;
}

constexpr void charge(State& state, const LimitPlan& plan, Cost cost, Instant now,
                      Duration wall_offset) noexcept {
  if (cost == 0) return;
  Counts seen = counts(state, plan, now);
  if (state.is_at_rest(now)) seen.end = window_end(now, plan.limit.period, wall_offset);
  state.rest_at = seen.end + plan.limit.period;
  state.payload = (std::uint64_t{seen.previous} << 32) | add_to_count(seen.current, cost);
}

// Charges the cost if it fits; the lean form of take(). Neither overdraft nor count_denied is
// looked at.
constexpr bool try_take(State& state, const LimitPlan& plan, Cost cost, Instant now,
                        Duration wall_offset) noexcept {
  if (wait(state, plan, cost, now) > Duration{0}) return false;
  charge(state, plan, cost, now, wall_offset);
  return true;
}

// How many single hits would pass at once: the limit less the estimate, rounded down.
constexpr std::uint32_t remaining(const State& state, const LimitPlan& plan, Instant now) noexcept {
  const Counts seen = counts(state, plan, now);
  const Wide period = static_cast<std::uint64_t>(plan.limit.period.count());
  const Wide weighted =
      seen.previous == 0
          ? Wide{0}
          : Wide{seen.previous} * static_cast<std::uint64_t>(detail::left(seen, plan, now));
  const Wide estimate = seen.current + (weighted + period - 1) / period;
  return estimate >= plan.limit.requests
             ? 0
             : plan.limit.requests - static_cast<std::uint32_t>(estimate);
}

// What take() would answer, but for the charge. Under overdraft this is the question that take()
// no longer asks: whether the cost fits without new debt, or for cost 0 whether there is none.
constexpr Decision peek(const State& state, const LimitPlan& plan, Cost cost,
                        Instant now) noexcept {
  Decision decision;
  decision.limit = plan.limit.requests;
  decision.remaining = remaining(state, plan, now);
  if (!state.is_at_rest(now)) decision.reset_after = state.rest_at - now;
  decision.retry_after = wait(state, plan, cost, now);
  if (cost == 0 && plan.limit.overdraft && plan.limit.requests > 0) {
    decision.retry_after = detail::when_fits(counts(state, plan, now), plan, 0, now) - now;
  }
  if (decision.retry_after > Duration{0}) decision.verdict = Verdict::denied;
  return decision;
}

// Decides and charges: when allowed, under count_denied also when refused. Under overdraft every
// positive cost up to kCostMax is allowed and counted. At requests 0 none is.
constexpr Decision take(State& state, const LimitPlan& plan, Cost cost, Instant now,
                        Duration wall_offset) noexcept {
  const Decision asked = peek(state, plan, cost, now);
  const bool is_allowed = asked.verdict == Verdict::allowed || overdraws(plan, cost);
  if (!is_allowed && !plan.limit.count_denied) return asked;
  charge(state, plan, cost, now, wall_offset);
  Decision decision = charged_decision(asked, peek(state, plan, 0, now), is_allowed);
  // A refused hit that was counted puts its own end off.
  if (!is_allowed) decision.retry_after = wait(state, plan, cost, now);
  return decision;
}

// Takes cost off the live window's count, to at least 0; never off an earlier one.
constexpr void refund(State& state, const LimitPlan& plan, Cost cost, Instant now) noexcept {
  if (cost == 0) return;
  Counts seen = counts(state, plan, now);
  seen.current -= static_cast<std::uint32_t>(std::min<Cost>(cost, seen.current));
  if (seen.previous == 0 && seen.current == 0) {
    state = {};
    return;
  }
  state.rest_at = seen.current > 0 ? seen.end + plan.limit.period : seen.end;
  state.payload = (std::uint64_t{seen.previous} << 32) | seen.current;
}

}  // namespace sluice::sliding_window
