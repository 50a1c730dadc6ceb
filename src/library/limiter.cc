#include "sluice/limiter.h"

#include <algorithm>

#include "library/limiter_line.h"
#include "sluice/algorithm/block_for.h"

namespace sluice {

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  limiter_ = std::exchange(other.limiter_, nullptr);
  is_granted_ = other.is_granted_;
  wait_ = other.wait_;
  at_ = other.at_;
  cost_ = other.cost_;
  place_ = other.place_;
  change_ = other.change_;
  return *this;
}

Cost Reservation::cancel(Instant now) noexcept {
  Limiter* const limiter = std::exchange(limiter_, nullptr);
  return limiter == nullptr ? 0 : limiter->line_->cancel(*this, now);
}

Result<std::unique_ptr<Limiter>> Limiter::open(const Limit& limit, const Clock& clock,
                                               const LimiterOptions& options) {
  if (auto valid = validate_limit(limit); !valid) return valid.error();
  if (limit.algorithm == Algorithm::concurrency) {
    return Error{ErrorCode::unsupported, "algorithm: concurrency is ConcurrencyLimiter's"};
  }
  if (options.initial && limit.algorithm != Algorithm::token_bucket) {
    return Error{ErrorCode::invalid_argument, "initial: only for token_bucket"};
  }
  if (options.initial && *options.initial > limit.burst) {
    return Error{ErrorCode::invalid_argument, "initial: more than the burst"};
  }
  return std::unique_ptr<Limiter>(new Limiter(limit, clock, options));
}

Limiter::Limiter(const Limit& limit, const Clock& clock, const LimiterOptions& options)
    : clock_(clock), line_(std::make_unique<Line>(*this, options.waiters_max)) {
  const Instant now = clock.now();
  const LimitPlan plan = make_plan(limit);
  std::vector<std::uint64_t> memory = memory_for(plan);
  adopt_locked(plan, memory, now);
  if (options.initial) charge_locked(limit.burst - *options.initial, now);
}

Limiter::~Limiter() = default;

bool Limiter::try_acquire_leaving(Cost cost, Cost left, Instant now) noexcept {
  const std::lock_guard guard(lock_);
  return token_bucket::wait(state_, plan_, cost + left, now) == Duration{0} &&
         token_bucket::try_take(state_, plan_, cost, now);
}

Decision Limiter::decide(Cost cost, Instant now) noexcept {
  const std::lock_guard guard(lock_);
  return take_locked(cost, now);
}

Decision Limiter::peek(Cost cost, Instant now) const noexcept {
  const std::lock_guard guard(lock_);
  return peek_locked(cost, now);
}

void Limiter::refund(Cost cost, Instant now) noexcept {
  lock_.lock();
  refund_locked(cost, now);
  const bool has_waiters = has_waiters_;
  lock_.unlock();
  if (has_waiters) line_->settle_after_change(now);
}

void Limiter::charge(Cost cost, Instant now) noexcept {
  const std::lock_guard guard(lock_);
  charge_locked(cost, now);
}

void Limiter::block(Duration span, Instant now) noexcept {
  const std::lock_guard guard(lock_);
  block_.rest_at = std::max(block_.rest_at, now + span);
  hint_locked(block_.rest_at);
}

Reservation Limiter::reserve(Cost cost, Instant now) noexcept {
  return line_->reserve(cost, now);
}

AcquireResult Limiter::acquire(Cost cost, Instant deadline, const std::stop_token& stop) {
  return line_->acquire(cost, deadline, stop);
}

Result<void> Limiter::set_limit(const Limit& limit) {
  if (auto valid = validate_limit(limit); !valid) return valid;
  if (limit.algorithm == Algorithm::concurrency) {
    return Error{ErrorCode::unsupported, "algorithm: concurrency is ConcurrencyLimiter's"};
  }
  line_->adopt(make_plan(limit));
  return {};
}

Limit Limiter::limit() const {
  const std::lock_guard guard(lock_);
  return plan_.limit;
}

void Limiter::reset() noexcept {
  line_->reset();
}

void Limiter::close() noexcept {
  line_->close();
}

WaitStats Limiter::wait_stats() const noexcept {
  return line_->stats();
}

// What a live change from one to the other needs allocated, before any lock is taken.
std::vector<std::uint64_t> Limiter::memory_for(const LimitPlan& plan) {
  const std::size_t bytes = algorithm::memory_bytes_max(plan);
  return std::vector<std::uint64_t>((bytes + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t));
}

algorithm::Memory Limiter::memory_locked() noexcept {
  return std::as_writable_bytes(std::span(memory_));
}

algorithm::ConstMemory Limiter::memory_locked() const noexcept {
  return std::as_bytes(std::span(memory_));
}

Decision Limiter::take_locked(Cost cost, Instant now) noexcept {
  if (block_for::is_blocked(block_, now)) return peek_locked(cost, now);
  const algorithm::Ask ask{cost, now, clock_.wall_offset()};
  PermitId no_permit;
  Decision decision = algorithm::take(state_, memory_locked(), plan_, ask, no_permit);
  if (decision.verdict == Verdict::allowed) return decision;
  block_for::begin(block_, plan_, decision, now);
  if (block_for::is_blocked(block_, now)) {
    decision = block_for::blocked_decision(block_, decision, cost, now);
    hint_locked(block_.rest_at);
  }
  if (cost == 1 && !plan_.limit.count_denied) hint_locked(now + decision.retry_after);
  return decision;
}

Decision Limiter::peek_locked(Cost cost, Instant now) const noexcept {
  const Decision own = algorithm::peek(state_, memory_locked(), plan_, {cost, now});
  return block_for::is_blocked(block_, now) ? block_for::blocked_decision(block_, own, cost, now)
                                            : own;
}

Decision Limiter::foresee_locked(Cost cost, Instant now) const noexcept {
  const Decision own = algorithm::decide(state_, memory_locked(), plan_, {cost, now});
  return block_for::is_blocked(block_, now) ? block_for::blocked_decision(block_, own, cost, now)
                                            : own;
}

void Limiter::refund_locked(Cost cost, Instant now) noexcept {
  algorithm::refund(state_, memory_locked(), plan_, {cost, now});
  refused_until_ns_.store(block_.rest_at.ns, std::memory_order_relaxed);
}

void Limiter::charge_locked(Cost cost, Instant now) noexcept {
  LimitPlan forced = plan_;
  forced.limit.overdraft = true;
  const algorithm::Ask ask{std::min(cost, kCostMax), now, clock_.wall_offset()};
  PermitId no_permit;
  algorithm::take(state_, memory_locked(), forced, ask, no_permit);
}

void Limiter::adopt_locked(const LimitPlan& plan, std::vector<std::uint64_t>& memory,
                           Instant now) noexcept {
  const bool is_bucket = plan.limit.algorithm == Algorithm::token_bucket ||
                         plan.limit.algorithm == Algorithm::leaky_bucket;
  if (plan.state_kind != state_plan_.state_kind) {
    state_ = {};
  } else if (is_bucket && plan.limit.requests > 0 && state_plan_.limit.requests > 0) {
    state_ = token_bucket::convert(state_, state_plan_, plan, now);
  }
  if (memory.size() > memory_.size()) {
    if (!state_.is_at_rest(now)) {
      algorithm::move_memory(plan, memory_locked(), std::as_writable_bytes(std::span(memory)));
    }
    memory_.swap(memory);
  }
  plan_ = plan;
  // At requests 0 tokens have no length: the state keeps the numbers it was written under.
  if (!is_bucket || plan.limit.requests > 0) state_plan_ = plan;
  is_plain_bucket_ = plan.limit.algorithm == Algorithm::token_bucket && !plan.limit.overdraft &&
                     plan.limit.block_for == Duration{0};
  refused_until_ns_.store(block_.rest_at.ns, std::memory_order_relaxed);
}

void Limiter::hint_locked(Instant refused_until) noexcept {
  if (refused_until.ns > refused_until_ns_.load(std::memory_order_relaxed)) {
    refused_until_ns_.store(refused_until.ns, std::memory_order_relaxed);
  }
}

}  // namespace sluice
