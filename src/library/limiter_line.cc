#include "library/limiter_line.h"

#include <algorithm>

#include "sluice/algorithm/decide.h"

namespace sluice {
namespace {

// Farther ahead nothing is reserved: far from where stored time would saturate.
constexpr Duration kWaitMax = kPeriodMax;

bool charges_ahead(const LimitPlan& plan) {
  return plan.limit.algorithm == Algorithm::token_bucket ||
         plan.limit.algorithm == Algorithm::leaky_bucket;
}

// Until the cost may be used.
Duration wait_of(const Decision& decision) {
  return decision.verdict == Verdict::allowed ? decision.delay : decision.retry_after;
}

void refund_bucket(State& state, const LimitPlan& plan, std::uint64_t cost, Instant now) {
  for (; cost > kCostMax; cost -= kCostMax) token_bucket::refund(state, plan, kCostMax, now);
  token_bucket::refund(state, plan, cost, now);
}

}  // namespace

AcquireResult Limiter::Line::acquire(Cost cost, Instant deadline, const std::stop_token& stop) {
  ChargedWaiter self;
  self.cost = cost;
  self.deadline = deadline;
  {
    const MutexLock lock(mutex_);
    if (stop.stop_requested()) return {AcquireOutcome::cancelled};
    const Instant now = clock_.now();
    settle(now);
    const auto refused = refusal();
    if (refused == AcquireOutcome::closed) return {*refused};
    const Place place =
        take_place(cost, now, refused ? Duration{0} : std::max(deadline - now, Duration{0}));
    if (refused && place.outcome == AcquireOutcome::deadline) return {*refused, place.wait};
    if (!place.must_wait) return {place.outcome, place.wait};
    if (charges_ahead(limiter_.plan_)) line_cost_ += cost;
    self.place = reserved_;
    join(self, place.turn_at);
  }
  const AcquireOutcome outcome = wait_out(self, stop);
  return {outcome, outcome == AcquireOutcome::never ? kNever : Duration{0}};
}

Reservation Limiter::Line::reserve(Cost cost, Instant now) noexcept {
  const MutexLock lock(mutex_);
  settle(now);
  const bool is_ahead = charges_ahead(limiter_.plan_);
  const Place place = take_place(cost, now, is_ahead ? kWaitMax : Duration{0});
  Reservation reservation(place.wait, now + place.wait);
  reservation.is_granted_ = place.outcome == AcquireOutcome::granted;
  if (!place.must_wait) return reservation;
  reservation.limiter_ = &limiter_;
  reservation.cost_ = cost;
  reservation.place_ = reserved_;
  reservation.change_ = changes_;
  if (!line_.empty()) {
    charged(line_.back()).behind += cost;
    line_cost_ += cost;
  }
  return reservation;
}

Cost Limiter::Line::cancel(const Reservation& reservation, Instant now) noexcept {
  const MutexLock lock(mutex_);
  if (now >= reservation.at_ || reservation.change_ != changes_) return 0;
  const std::uint64_t later = reserved_ - reservation.place_;
  if (later >= reservation.cost_) return 0;
  const Cost given = reservation.cost_ - later;
  {
    const std::lock_guard guard(limiter_.lock_);
    limiter_.refund_locked(given, now);
  }
  if (later == 0) reserved_ -= given;
  const auto ahead = std::find_if(line_.rbegin(), line_.rend(), [&](Waiter* waiter) {
    return charged(waiter).place < reservation.place_;
  });
  if (ahead != line_.rend()) {
    charged(*ahead).behind -= given;
    line_cost_ -= given;
  }
  settle(now);
  return given;
}

Limiter::Line::Place Limiter::Line::take_place(Cost cost, Instant now, Duration wait_max) noexcept {
  if (cost == 0) return {};
  const std::lock_guard guard(limiter_.lock_);
  wait_max = std::min(wait_max, kWaitMax);
  const Place place = charges_ahead(limiter_.plan_) ? take_place_ahead(cost, now, wait_max)
                                                    : take_place_in_turn(cost, now, wait_max);
  limiter_.has_waiters_ = limiter_.has_waiters_ || place.must_wait;
  return place;
}

Limiter::Line::Place Limiter::Line::take_place_ahead(Cost cost, Instant now,
                                                     Duration wait_max) noexcept {
  const Decision next = limiter_.foresee_locked(cost, now);
  const Duration wait = wait_of(next);
  if (wait == kNever) return {AcquireOutcome::never, kNever};
  if (limiter_.plan_.limit.algorithm == Algorithm::leaky_bucket &&
      next.verdict != Verdict::allowed) {
    return {AcquireOutcome::queue_full, wait};
  }
  if (wait > wait_max) return {AcquireOutcome::deadline, wait};
  limiter_.charge_locked(cost, now);
  if (wait == Duration{0}) return {};
  reserved_ += cost;
  return {.wait = wait, .must_wait = true, .turn_at = now + wait};
}

Limiter::Line::Place Limiter::Line::take_place_in_turn(Cost cost, Instant now,
                                                       Duration wait_max) noexcept {
  const bool is_first = line_.empty();
  const Duration wait = wait_of(limiter_.foresee_locked(cost, now));
  if (wait == kNever) return {AcquireOutcome::never, kNever};
  if (wait > wait_max || (!is_first && wait_max == Duration{0})) {
    return {AcquireOutcome::deadline, wait};
  }
  if (is_first && wait == Duration{0}) {
    limiter_.take_locked(cost, now);
    return {};
  }
  // Behind others its turn comes when theirs have come.
  return {.wait = wait, .must_wait = true, .turn_at = is_first ? now + wait : kInstantMax};
}

Turn Limiter::Line::take_turn(Waiter& first, Instant now) noexcept {
  const std::lock_guard guard(limiter_.lock_);
  if (charges_ahead(limiter_.plan_)) return take_turn_ahead(first, now);
  const Duration wait = wait_of(limiter_.foresee_locked(first.cost, now));
  if (wait == kNever) return {Turn::Kind::never};
  if (wait > Duration{0}) return {Turn::Kind::later, now + wait};
  limiter_.take_locked(first.cost, now);
  return {Turn::Kind::now};
}

Turn Limiter::Line::take_turn_ahead(Waiter& first, Instant now) noexcept {
  State before = limiter_.state_;  // As it was when the first came.
  refund_bucket(before, limiter_.plan_, line_cost_, now);
  Duration wait = wait_of(algorithm::decide(before, {}, limiter_.plan_, {first.cost, now}));
  if (wait == kNever) return {Turn::Kind::never};
  wait = std::max(wait, limiter_.block_.rest_at - now);
  if (wait > Duration{0}) return {Turn::Kind::later, now + wait};
  line_cost_ -= first.cost + charged(&first).behind;
  return {Turn::Kind::now};
}

void Limiter::Line::leave(Position waiter, Instant now) noexcept {
  const ChargedWaiter& leaver = charged(*waiter);
  const std::lock_guard guard(limiter_.lock_);
  if (!charges_ahead(limiter_.plan_)) return;
  Cost reserved_later = 0;
  for (auto it = waiter; it != line_.end(); ++it) reserved_later += charged(*it).behind;
  const Cost kept = std::min(leaver.cost, reserved_later);
  limiter_.refund_locked(leaver.cost - kept, now);
  if (leaver.place == reserved_) reserved_ -= leaver.cost;
  if (waiter == line_.begin()) {
    line_cost_ -= leaver.cost + leaver.behind;
  } else {
    line_cost_ -= leaver.cost - kept;
    charged(*std::prev(waiter)).behind += kept + leaver.behind;
  }
}

void Limiter::Line::settle_after_change(Instant now) noexcept {
  const MutexLock lock(mutex_);
  settle(now);
  if (!line_.empty()) return;
  const std::lock_guard guard(limiter_.lock_);
  limiter_.has_waiters_ = false;
}

void Limiter::Line::adopt(const LimitPlan& plan) {
  std::vector<std::uint64_t> memory = memory_for(plan);
  const MutexLock lock(mutex_);
  const Instant now = clock_.now();
  if (limiter_.limit() == plan.limit) return;
  if (plan.capacity == 0 && charges_ahead(plan)) {
    // Nobody can ever pass; what they were charged is given back while tokens have a length.
    while (!line_.empty()) dismiss(std::prev(line_.end()), AcquireOutcome::never, now);
  }
  ++changes_;
  {
    const std::lock_guard guard(limiter_.lock_);
    const bool is_anew = plan.state_kind != limiter_.state_plan_.state_kind;
    limiter_.adopt_locked(plan, memory, now);
    if (is_anew) charge_anew(now);
  }
  settle(now);
}

void Limiter::Line::reset() noexcept {
  const MutexLock lock(mutex_);
  const Instant now = clock_.now();
  ++changes_;
  {
    const std::lock_guard guard(limiter_.lock_);
    limiter_.state_ = {};
    limiter_.block_ = {};
    limiter_.refused_until_ns_.store(0, std::memory_order_relaxed);
    charge_anew(now);
  }
  settle(now);
}

void Limiter::Line::charge_anew(Instant now) noexcept {
  line_cost_ = 0;
  for (Waiter* waiter : line_) {
    charged(waiter).behind = 0;
    if (!charges_ahead(limiter_.plan_)) continue;
    limiter_.charge_locked(waiter->cost, now);
    line_cost_ += waiter->cost;
    charged(waiter).place = reserved_ += waiter->cost;
  }
}

}  // namespace sluice
