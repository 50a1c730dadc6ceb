// Sliding window of N sub-windows: the last period cut into slices, each slice's hits counted until
// its last moment is a whole period old, so the oldest counts whole. Never more than the limit in
// any span of one period; a hit weighs at most one slice too long.
//
// A slice is period / sub_windows, rounded up to a nanosecond; slices begin at its multiples in
// Unix time. state.rest_at is when the newest counted slice ends to matter (its end + period); the
// payload is the caller's handle to the memory: one count a slice, newest first, N + 1 of them.
// Slices are dropped by time alone, so a reader writes nothing and memory needs no first value.
// Pure: no clock, no lock, no allocation. A decision reads all counts: at most 63 cache lines.
#pragma once

#include <span>

#include "sluice/algorithm/fixed_window.h"

namespace sluice::sub_windows {

using Slices = std::span<std::uint32_t>;
using ConstSlices = std::span<const std::uint32_t>;

// How many counts a key of this plan needs.
constexpr std::size_t slices_of(const LimitPlan& plan) noexcept {
  return std::size_t{plan.limit.sub_windows} + 1;
}

namespace detail {

// How many of the slices still count. `slices` has slices_of(plan) entries here and below.
constexpr std::size_t live(const State& state, const LimitPlan& plan, Instant now) noexcept {
  if (state.is_at_rest(now)) return 0;
  const auto span = static_cast<std::uint64_t>((state.rest_at - now).count());
  const auto slice = static_cast<std::uint64_t>(plan.slice.count());
  return std::min<std::uint64_t>((span + slice - 1) / slice, slices_of(plan));
}

constexpr std::uint64_t total(ConstSlices live_slices) noexcept {
  std::uint64_t sum = 0;
  for (const std::uint32_t count : live_slices) sum += count;
  return sum;
}

// When `cost` fits: now, or when enough of the oldest slices have gone. Requires cost <= requests.
constexpr Instant when_fits(const State& state, ConstSlices slices, const LimitPlan& plan,
                            Cost cost, Instant now) noexcept {
  const ConstSlices counted = slices.first(live(state, plan, now));
  const std::uint64_t sum = total(counted) + cost;
  if (sum <= plan.limit.requests) return now;
  std::uint64_t excess = sum - plan.limit.requests;
  std::size_t oldest = counted.size();
  while (oldest > 0 && counted[--oldest] < excess) excess -= counted[oldest];
  return state.rest_at - plan.slice * static_cast<std::int64_t>(oldest);
}

}  // namespace detail

// How long until `cost` would pass: 0 now, kNever if it can never fit. Overdraft is not looked at.
constexpr Duration wait(const State& state, ConstSlices slices, const LimitPlan& plan, Cost cost,
                        Instant now) noexcept {
  if (cost == 0) return Duration{0};
  if (cost > plan.limit.requests) return kNever;
  return detail::when_fits(state, slices, plan, cost, now) - now;
}

namespace detail {

// Empties the slices that no longer count: what is written is not brought back by time going back.
constexpr void forget(const State& state, Slices slices, const LimitPlan& plan,
                      Instant now) noexcept {
  const Slices gone = slices.subspan(live(state, plan, now));
  std::fill(gone.begin(), gone.end(), 0U);
}

}  // namespace detail

constexpr void charge(State& state, Slices slices, const LimitPlan& plan, Cost cost, Instant now,
                      Duration wall_offset) noexcept {
  if (cost == 0) return;
  const Duration period = plan.limit.period;
  detail::forget(state, slices, plan, now);
  if (state.is_at_rest(now)) {
    state.rest_at = window_end(now, plan.slice, wall_offset) + period;
  } else if (const Duration behind = now - (state.rest_at - period); behind >= Duration{0}) {
    const std::int64_t steps = behind / plan.slice + 1;
    const auto shift = std::min(static_cast<std::size_t>(steps), slices.size());
    std::shift_right(slices.begin(), slices.end(), static_cast<std::ptrdiff_t>(shift));
    std::fill_n(slices.begin(), shift, 0U);
    state.rest_at = state.rest_at + plan.slice * steps;
  }
  slices[0] = add_to_count(slices[0], cost);
}

// What take() would answer, but for the charge. Under overdraft this is the question that take()
// no longer asks: whether the cost fits without new debt, or for cost 0 whether there is none.
constexpr Decision peek(const State& state, ConstSlices slices, const LimitPlan& plan, Cost cost,
                        Instant now) noexcept {
  const std::uint64_t sum = detail::total(slices.first(detail::live(state, plan, now)));
  Decision decision;
  decision.limit = plan.limit.requests;
  decision.remaining = plan.limit.requests -
                       static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, decision.limit));
  if (!state.is_at_rest(now)) decision.reset_after = state.rest_at - now;
  decision.retry_after = wait(state, slices, plan, cost, now);
  if (cost == 0 && plan.limit.overdraft && plan.limit.requests > 0) {
    decision.retry_after = detail::when_fits(state, slices, plan, 0, now) - now;
  }
  if (decision.retry_after > Duration{0}) decision.verdict = Verdict::denied;
  return decision;
}

// Decides and charges: when allowed, under count_denied also when refused. Under overdraft every
// positive cost up to kCostMax is allowed and counted. At requests 0 none is.
constexpr Decision take(State& state, Slices slices, const LimitPlan& plan, Cost cost, Instant now,
                        Duration wall_offset) noexcept {
  const Decision asked = peek(state, slices, plan, cost, now);
  const bool is_allowed = asked.verdict == Verdict::allowed || overdraws(plan, cost);
  if (!is_allowed && !plan.limit.count_denied) return asked;
  charge(state, slices, plan, cost, now, wall_offset);
  Decision decision = charged_decision(asked, peek(state, slices, plan, 0, now), is_allowed);
  if (!is_allowed) decision.retry_after = wait(state, slices, plan, cost, now);
  return decision;
}

// Takes cost off the newest slices, to at least 0.
constexpr void refund(State& state, Slices slices, const LimitPlan& plan, Cost cost,
                      Instant now) noexcept {
  if (cost == 0) return;
  if (state.is_at_rest(now)) {
    state.rest_at = {};
    return;
  }
  const std::size_t live = detail::live(state, plan, now);
  detail::forget(state, slices, plan, now);
  std::size_t emptied = 0;
  for (; emptied < live && slices[emptied] <= cost; ++emptied) cost -= slices[emptied];
  if (emptied == live) {
    state.rest_at = {};
    return;
  }
  slices[emptied] -= static_cast<std::uint32_t>(cost);
  std::shift_left(slices.begin(), slices.end(), static_cast<std::ptrdiff_t>(emptied));
  std::fill_n(slices.rbegin(), emptied, 0U);
  state.rest_at = state.rest_at - plan.slice * static_cast<std::int64_t>(emptied);
}

}  // namespace sluice::sub_windows
