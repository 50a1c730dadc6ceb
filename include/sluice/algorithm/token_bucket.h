// Token bucket as GCRA (ITU-T I.371): the whole state is the moment when the bucket is full again.
// A hit pushes that moment one token's time away and is allowed while it stays within the time of
// all tokens from now. No refill runs, time that goes back is harmless, and a key that is full
// equals one never seen.
//
// state.rest_at is that moment in whole nanoseconds, rounded up; the payload's low half says by how
// many 1/requests ns it was rounded (BucketTime), its high half under which numbers it was written.
// So every rate is exact: no drift from one hit in ten years to a thousand million a second.
//
// Pure: no clock, no lock, no allocation. An allowed hit of cost 1 divides nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "sluice/algorithm/limit_generations.h"
#include "sluice/algorithm/limit_plan.h"
#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/state.h"
#include "sluice/vocabulary/wide.h"

namespace sluice::token_bucket {

namespace detail {

constexpr std::uint32_t generation_of(const State& state) noexcept {
  return static_cast<std::uint32_t>(state.payload >> 32);
}

constexpr State pack(BucketTime full_at, const LimitPlan& plan) noexcept {
  return {{full_at.ns}, (std::uint64_t{plan.generation} << 32) | full_at.early};
}

constexpr BucketTime sum(BucketTime a, BucketTime b, std::uint32_t requests) noexcept {
  const std::uint64_t early = std::uint64_t{a.early} + b.early;
  const bool carries = early >= requests;
  return {saturating_add(a.ns, b.ns) - (carries ? 1 : 0),
          static_cast<std::uint32_t>(early - (carries ? requests : 0))};
}

constexpr BucketTime difference(BucketTime a, BucketTime b, std::uint32_t requests) noexcept {
  const bool borrows = a.early < b.early;
  return {saturating_add(saturating_sub(a.ns, b.ns), borrows ? 1 : 0),
          a.early - b.early + (borrows ? requests : 0)};
}

// The time between now and full in excess of all tokens' time, rounded up: the wait. 0 or less:
// it fits.
constexpr std::int64_t excess(BucketTime full_at, const LimitPlan& plan, Instant now) noexcept {
  const std::int64_t whole =
      saturating_sub(saturating_sub(full_at.ns, now.ns), plan.capacity_span.ns);
  return full_at.early < plan.capacity_span.early ? saturating_add(whole, 1) : whole;
}

// The balance in 1/requests of a nanosecond: tokens times the period. Negative is debt.
constexpr SignedWide balance(BucketTime full_at, const LimitPlan& plan, Instant now) noexcept {
  const SignedWide left = SignedWide{plan.capacity_span.ns} + now.ns - full_at.ns;
  return left * plan.limit.requests + full_at.early - plan.capacity_span.early;
}

}  // namespace detail

// A state brought under new numbers: advanced to now at the old ones, its tokens (or its debt)
// kept, clamped to the new capacity. Exact, so going to and fro mints nothing. Another period or
// algorithm starts at rest. Requires both plans to have requests > 0.
constexpr State convert(const State& state, const LimitPlan& old_plan, const LimitPlan& new_plan,
                        Instant now) noexcept {
  if (old_plan.state_kind != new_plan.state_kind) return {};
  const BucketTime full_at =
      state.is_at_rest(now)
          ? BucketTime{now.ns, 0}
          : BucketTime{state.rest_at.ns, static_cast<std::uint32_t>(state.payload)};
  // The balance counts one token as `period` under either numbers; what was worth 1/old requests
  // nanoseconds is now worth 1/new requests. slack is how long before all tokens' time full lies.
  const SignedWide slack = new_plan.capacity_span.early + detail::balance(full_at, old_plan, now);
  const SignedWide requests = new_plan.limit.requests;
  SignedWide whole = slack / requests;
  if (whole * requests > slack) --whole;
  const SignedWide ns = SignedWide{now.ns} + new_plan.capacity_span.ns - whole;
  if (ns <= now.ns) return detail::pack({now.ns, 0}, new_plan);
  if (ns > kInstantMax.ns) return detail::pack({kInstantMax.ns, 0}, new_plan);
  return detail::pack(
      {static_cast<std::int64_t>(ns), static_cast<std::uint32_t>(slack - whole * requests)},
      new_plan);
}

// Whether the state was written under the plan's numbers, or never.
constexpr bool is_current(const State& state, const LimitPlan& plan) noexcept {
  return detail::generation_of(state) == plan.generation || state.payload >> 32 == 0;
}

// The state as the plan's numbers see it: itself, unless they changed.
inline State current(const State& state, const LimitPlan& plan, Instant now) noexcept {
  if (is_current(state, plan) || plan.limit.requests == 0) return state;
  const LimitPlan* old_plan =
      plan.generations != nullptr ? plan.generations->find(detail::generation_of(state)) : nullptr;
  return old_plan != nullptr ? convert(state, *old_plan, plan, now) : state;
}

// Writes the state under the plan's numbers. Every charging decision begins with it, refused or
// not: what accrues from here on accrues at the new numbers.
inline void make_current(State& state, const LimitPlan& plan, Instant now) noexcept {
  if (!is_current(state, plan)) [[unlikely]] {
    state = current(state, plan, now);
  }
}

// When the bucket is full: the stored moment, or now if that has passed.
constexpr BucketTime full_at(const State& state, const LimitPlan& plan, Instant now) noexcept {
  if (state.rest_at <= now) return {now.ns, 0};
  const auto early = static_cast<std::uint32_t>(state.payload);
  return {state.rest_at.ns, early < plan.limit.requests ? early : 0};
}

// How long until `cost` would pass: 0 now, kNever if it can never fit. Loads and compares only
// while the state is current; writes nothing ever. Overdraft is not looked at.
inline Duration wait(const State& stored, const LimitPlan& plan, Cost cost, Instant now) noexcept {
  if (cost == 0) return Duration{0};
  if (cost > plan.capacity) return kNever;
  const State state = current(stored, plan, now);
  const BucketTime span = cost == 1 ? plan.interval : span_of(plan, cost);
  const BucketTime next = detail::sum(full_at(state, plan, now), span, plan.limit.requests);
  return Duration{std::max<std::int64_t>(detail::excess(next, plan, now), 0)};
}

// Charges the cost if it fits; the lean form of take(). A refusal writes nothing, except that a
// state of older numbers is converted. Overdraft is not looked at. cost 0 is true.
inline bool try_take(State& state, const LimitPlan& plan, Cost cost, Instant now) noexcept {
  if (cost == 0) return true;
  if (cost > plan.capacity) return false;
  make_current(state, plan, now);
  const BucketTime span = cost == 1 ? plan.interval : span_of(plan, cost);
  const BucketTime next = detail::sum(full_at(state, plan, now), span, plan.limit.requests);
  if (detail::excess(next, plan, now) > 0) return false;
  state = detail::pack(next, plan);
  return true;
}

// How many single hits would pass at once.
inline std::uint32_t remaining(const State& stored, const LimitPlan& plan, Instant now) noexcept {
  if (plan.capacity == 0) return 0;
  const State state = current(stored, plan, now);
  const SignedWide left = detail::balance(full_at(state, plan, now), plan, now);
  if (left <= 0) return 0;
  const auto period = static_cast<std::uint64_t>(plan.limit.period.count());
  const SignedWide tokens = left <= std::numeric_limits<std::int64_t>::max()
                                ? static_cast<std::uint64_t>(left) / period
                                : left / period;
  return static_cast<std::uint32_t>(std::min<SignedWide>(tokens, plan.capacity));
}

// When the bucket is full again, from now.
inline Duration reset_after(const State& stored, const LimitPlan& plan, Instant now) noexcept {
  if (plan.capacity == 0) return Duration{0};
  return Instant{full_at(current(stored, plan, now), plan, now).ns} - now;
}

// What take() would answer, but for the charge. Under overdraft this is the question that take()
// no longer asks: whether the cost fits without new debt, or for cost 0 whether there is none.
inline Decision peek(const State& stored, const LimitPlan& plan, Cost cost, Instant now) noexcept {
  const State state = current(stored, plan, now);
  Decision decision;
  decision.limit = count_of(plan);
  decision.remaining = remaining(state, plan, now);
  decision.reset_after = reset_after(state, plan, now);
  decision.retry_after = wait(state, plan, cost, now);
  if (cost == 0 && plan.limit.overdraft && plan.capacity > 0) {
    decision.retry_after =
        Duration{std::max<std::int64_t>(detail::excess(full_at(state, plan, now), plan, now), 0)};
  }
  if (decision.retry_after > Duration{0}) decision.verdict = Verdict::denied;
  return decision;
}

// Decides and, when allowed, charges. Under overdraft every positive cost up to kCostMax is allowed
// and charged, into debt if need be; at requests 0 or burst 0 none is.
inline Decision take(State& state, const LimitPlan& plan, Cost cost, Instant now) noexcept {
  if (cost == 0) return peek(state, plan, cost, now);
  make_current(state, plan, now);
  bool is_allowed = try_take(state, plan, cost, now);
  if (!is_allowed && overdraws(plan, cost)) {
    state = detail::pack(
        detail::sum(full_at(state, plan, now), span_of(plan, cost), plan.limit.requests), plan);
    is_allowed = true;
  }
  if (!is_allowed) return peek(state, plan, cost, now);
  return {.verdict = Verdict::allowed,
          .limit = count_of(plan),
          .remaining = remaining(state, plan, now),
          .retry_after = Duration{0},
          .reset_after = reset_after(state, plan, now),
          .delay = Duration{0}};
}

// Gives cost back, to at most full.
inline void refund(State& state, const LimitPlan& plan, Cost cost, Instant now) noexcept {
  if (plan.capacity == 0 || cost == 0) return;
  make_current(state, plan, now);
  if (state.is_at_rest(now)) return;
  const BucketTime full = detail::difference(
      full_at(state, plan, now), span_of(plan, std::min(cost, kCostMax)), plan.limit.requests);
  state = detail::pack(full.ns <= now.ns ? BucketTime{now.ns, 0} : full, plan);
}

// A place in the future: charged at once, to be used from ready_at on.
struct Reservation {
  bool is_granted = false;  // False: nothing was charged; `wait` says how long it would have been.
  Duration wait{0};         // kNever: the cost can never fit.
  Instant ready_at{};
  Cost cost = 0;
  BucketTime full_after{};       // The bucket when this was its newest reservation.
  std::uint32_t generation = 0;  // The numbers it was made under.
};

// Charges the cost even if it does not fit yet, provided it will within wait_max. Reservations are
// served in order: each pushes later ones back.
inline Reservation reserve(State& state, const LimitPlan& plan, Cost cost, Instant now,
                           Duration wait_max) noexcept {
  make_current(state, plan, now);
  Reservation place{
      .wait = wait(state, plan, cost, now), .cost = cost, .generation = plan.generation};
  if (place.wait == kNever || place.wait > wait_max) return place;
  place.is_granted = true;
  place.ready_at = now + place.wait;
  if (cost == 0) return place;
  place.full_after =
      detail::sum(full_at(state, plan, now), span_of(plan, cost), plan.limit.requests);
  state = detail::pack(place.full_after, plan);
  return place;
}

// Gives a reservation back before its time, whole, if it is still the newest charge; else nothing:
// whoever was charged after it was given a place that assumes this one is used, and a refund would
// let others act at the moment of that place (at most burst in one instant would no longer hold).
// Cancelled newest first, all come back. Nothing once its time has come or the numbers changed.
// Call at most once.
inline void cancel(State& state, const LimitPlan& plan, const Reservation& place,
                   Instant now) noexcept {
  if (!place.is_granted || place.cost == 0 || now >= place.ready_at ||
      place.generation != plan.generation || !is_current(state, plan) ||
      full_at(state, plan, now) != place.full_after) {
    return;
  }
  refund(state, plan, place.cost, now);
}

}  // namespace sluice::token_bucket
