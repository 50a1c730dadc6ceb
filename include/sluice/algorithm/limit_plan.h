// A limit made ready to decide: its numbers, the generation under which states remember them, and
// what can be worked out once instead of at each decision. A value; immutable once made, so any
// thread may read it. Made by make_plan(), or by LimitGenerations::make_plan() where a limit may
// change while its states live.
#pragma once

#include <cstdint>
#include <limits>

#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/limit.h"

namespace sluice {

class LimitGenerations;

// An exact moment or span of a bucket: ns - early / requests nanoseconds, early < requests. Tokens
// of most rates do not come at whole nanoseconds; written this way `ns` is the moment rounded up,
// which is what is_at_rest() and every wait need.
struct BucketTime {
  std::int64_t ns = 0;
  std::uint32_t early = 0;
  friend bool operator==(BucketTime, BucketTime) = default;
};

struct LimitPlan {
  Limit limit;

  // token_bucket, leaky_bucket: which numbers a state was written under, so that it can be
  // converted when they change. Without `generations` a stored time is kept as it is under any
  // numbers (CL.THROTTLE).
  const LimitGenerations* generations = nullptr;  // Outlives the plan.
  std::uint32_t generation = 0;                   // Same numbers, same generation; 0: none.

  // Differs for states that cannot be read as each other's: another algorithm, period or number of
  // sub-windows. Whoever finds a state by key mixes it into the hash, whoever holds a single state
  // clears it when this changes: a changed algorithm or period starts at rest.
  std::uint64_t state_kind = 0;

  // Buckets. How many single hits a fresh one takes at once, one token's time, and all tokens'.
  std::uint64_t capacity = 0;
  BucketTime interval;
  BucketTime capacity_span{-1, 0};  // -1 refuses every cost: requests is 0.

  Duration slice{0};  // sub_windows: the length of one, rounded up.
};

// The time of `tokens` tokens, saturated. Requires limit.requests > 0.
constexpr BucketTime span_of(const LimitPlan& plan, std::uint64_t tokens) noexcept {
  const std::uint64_t early = tokens * plan.interval.early;  // Both below 2^32.
  std::int64_t ns = 0;
  if (__builtin_mul_overflow(plan.interval.ns, static_cast<std::int64_t>(tokens), &ns)) {
    return {std::numeric_limits<std::int64_t>::max(), 0};
  }
  return {ns - static_cast<std::int64_t>(early / plan.limit.requests),
          static_cast<std::uint32_t>(early % plan.limit.requests)};
}

namespace detail {

constexpr std::uint64_t mix(std::uint64_t value) noexcept {  // The finalizer of SplitMix64.
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

}  // namespace detail

// Requires validate_limit(limit) to hold. No allocation.
constexpr LimitPlan make_plan(const Limit& limit) noexcept {
  LimitPlan plan;
  plan.limit = limit;
  const bool is_concurrency = limit.algorithm == Algorithm::concurrency;
  plan.state_kind =
      detail::mix(detail::mix((std::uint64_t{limit.sub_windows} << 8) +
                              static_cast<std::uint8_t>(limit.algorithm) + 1) +
                  (is_concurrency ? 0 : static_cast<std::uint64_t>(limit.period.count())));
  if (limit.sub_windows > 0) {
    plan.slice = (limit.period + Duration{limit.sub_windows - 1}) / limit.sub_windows;
  }
  const bool is_leaky = limit.algorithm == Algorithm::leaky_bucket;
  if (limit.requests == 0 || (!is_leaky && limit.algorithm != Algorithm::token_bucket)) return plan;

  const std::int64_t requests = limit.requests;
  const std::int64_t period = limit.period.count();
  plan.interval.ns = period / requests + (period % requests > 0 ? 1 : 0);
  plan.interval.early = static_cast<std::uint32_t>(plan.interval.ns * requests - period);
  plan.capacity = std::uint64_t{limit.burst} + (is_leaky ? 1 : 0);  // The one being served.
  if (plan.capacity > kCostMax) plan.capacity = kCostMax;
  plan.capacity_span = span_of(plan, plan.capacity);
  return plan;
}

// What Decision::limit says.
constexpr std::uint32_t count_of(const LimitPlan& plan) noexcept {
  const bool is_bucket = plan.limit.algorithm == Algorithm::token_bucket ||
                         plan.limit.algorithm == Algorithm::leaky_bucket;
  return is_bucket ? static_cast<std::uint32_t>(plan.capacity) : plan.limit.requests;
}

// Whether take() charges the cost without asking whether it fits.
constexpr bool overdraws(const LimitPlan& plan, Cost cost) noexcept {
  return plan.limit.overdraft && count_of(plan) > 0 && cost > 0 && cost <= kCostMax;
}

// How a take() that found `asked` before charging answers, given what peek(0) finds after it.
constexpr Decision charged_decision(const Decision& asked, const Decision& after,
                                    bool is_allowed) noexcept {
  return {.verdict = is_allowed ? Verdict::allowed : Verdict::denied,
          .limit = asked.limit,
          .remaining = after.remaining,
          .retry_after = is_allowed ? Duration{0} : asked.retry_after,
          .reset_after = after.reset_after,
          .delay = Duration{0}};
}

}  // namespace sluice
