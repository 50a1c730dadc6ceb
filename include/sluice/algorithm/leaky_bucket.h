// Leaky bucket as a queue (shaping): hits are served one interval apart, `burst` of them may wait,
// and an allowed hit is told how long to be held until its turn. In arithmetic it is the token
// bucket of burst + 1 tokens, whose full moment is when the server falls idle; the delay is the
// time until all earlier hits are served. A hit of cost n is served when its first place comes and
// keeps the server busy for n intervals.
#pragma once

#include "sluice/algorithm/token_bucket.h"

namespace sluice::leaky_bucket {

using token_bucket::convert;
using token_bucket::current;
using token_bucket::is_current;
using token_bucket::make_current;
using token_bucket::refund;  // Frees places; whoever was already told a delay keeps it.
using token_bucket::remaining;
using token_bucket::reset_after;
using token_bucket::try_take;
using token_bucket::wait;

// How long a hit that is allowed now would be held.
inline Duration delay(const State& state, const LimitPlan& plan, Instant now) noexcept {
  return reset_after(state, plan, now);
}

inline Decision peek(const State& state, const LimitPlan& plan, Cost cost, Instant now) noexcept {
  Decision decision = token_bucket::peek(state, plan, cost, now);
  if (decision.verdict == Verdict::allowed && cost > 0) decision.delay = delay(state, plan, now);
  return decision;
}

inline Decision take(State& state, const LimitPlan& plan, Cost cost, Instant now) noexcept {
  if (cost == 0) return peek(state, plan, cost, now);
  make_current(state, plan, now);
  const Duration held = delay(state, plan, now);
  Decision decision = token_bucket::take(state, plan, cost, now);
  if (decision.verdict == Verdict::allowed) decision.delay = held;
  return decision;
}

}  // namespace sluice::leaky_bucket
