// One limit shared by the threads of a program, exact: whatever they do at once is decided as if
// they had come one by one.
//
// The state is 16 bytes beside a lock word and a hint, all on one cache line that nothing else
// touches. Allowing takes the lock, for about the cost of one compare-and-swap. A refusal leaves
// the instant until which every cost is refused in the hint, so that refusing again is one load:
// a flood of refused calls writes nothing and contends for nothing. Those who wait stand in a line
// of their own behind a mutex (see acquire), which decisions never touch.
//
//   auto limiter = Limiter::open({.algorithm = Algorithm::token_bucket, .requests = 100,
//                                 .burst = 20}, clock).value();
//   if (!limiter->try_acquire()) return too_many_requests();
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "sluice/algorithm/decide.h"
#include "sluice/spin_lock.h"
#include "sluice/vocabulary/clock.h"
#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/error.h"
#include "sluice/waiting.h"

namespace sluice {

class Limiter;

// A place in the future: charged already, to be used from at() on. Letting it go out of scope is
// using it. One thread at a time; must not outlive its limiter.
class [[nodiscard]] Reservation {
 public:
  Reservation(Reservation&& other) noexcept { *this = std::move(other); }
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() = default;

  // False: nothing was charged, and wait() says when to ask again (kNever: not at all).
  bool is_granted() const noexcept { return is_granted_; }
  Duration wait() const noexcept { return wait_; }  // From when it was asked for.
  Instant at() const noexcept { return at_; }

  // Before at(): gives back what later reservations leave, which is the cost less all that was
  // reserved after it, for they were given instants that count on it. All of it when this is the
  // newest. Nothing from at() on, after a live change, or the second time. Returns how much.
  Cost cancel() noexcept;
  Cost cancel(Instant now) noexcept;

 private:
  friend class Limiter;
  Reservation(Duration wait, Instant at) noexcept : wait_(wait), at_(at) {}

  Limiter* limiter_ = nullptr;  // Null: nothing to cancel.
  bool is_granted_ = false;
  Duration wait_{0};
  Instant at_;
  Cost cost_ = 0;
  std::uint64_t place_ = 0;   // Cost reserved so far, itself included.
  std::uint64_t change_ = 0;  // The live change it was made under.
};

struct LimiterOptions {
  std::size_t waiters_max = kWaitersMaxDefault;
  std::optional<Cost> initial{};  // token_bucket: tokens at the start, at most the burst, not full.
};

// Any thread may call anything at any time, but for the destructor, which wakes those who wait with
// `closed` and returns when they have left. Without `now` a call reads the clock, once.
// A `now` that lags is harmless: it counts as no later than it is.
class Limiter {
 public:
  // Every algorithm but concurrency (unsupported: that is ConcurrencyLimiter's, permit.h).
  // invalid_argument: as validate_limit(). The clock outlives the limiter.
  static Result<std::unique_ptr<Limiter>> open(const Limit& limit, const Clock& clock,
                                               const LimiterOptions& options = {});
  ~Limiter();
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;

  // Charges the cost if it fits. Cost 0 is always allowed.
  bool try_acquire(Cost cost = 1) noexcept { return try_acquire(cost, clock_.now()); }
  bool try_acquire(Cost cost, Instant now) noexcept {
    if (cost > 0 && now.ns < refused_until_ns_.load(std::memory_order_relaxed)) return false;
    const std::lock_guard guard(lock_);
    if (!is_plain_bucket_) [[unlikely]]
      return take_locked(cost, now).verdict == Verdict::allowed;
    if (try_take_plain_locked(cost, now)) return true;
    if (cost == 1) hint_locked(now + token_bucket::wait(state_, plan_, cost, now));
    return false;
  }

  // The same with everything that an answer says.
  Decision decide(Cost cost = 1) noexcept { return decide(cost, clock_.now()); }
  Decision decide(Cost cost, Instant now) noexcept;

  // What decide() would say; charges nothing.
  Decision peek(Cost cost = 1) const noexcept { return peek(cost, clock_.now()); }
  Decision peek(Cost cost, Instant now) const noexcept;

  // Gives cost back, as the algorithm allows (a bucket to at most full). Those who wait move up.
  void refund(Cost cost = 1) noexcept { refund(cost, clock_.now()); }
  void refund(Cost cost, Instant now) noexcept;

  // Charges without asking, into debt if need be: a penalty, or a cost known only afterwards.
  // Later checks are refused, and those who wait move back, until it is repaid.
  void charge(Cost cost) noexcept { charge(cost, clock_.now()); }
  void charge(Cost cost, Instant now) noexcept;

  // Refuses every positive cost for `span`; a block that lasts longer already stays.
  void block(Duration span) noexcept { block(span, clock_.now()); }
  void block(Duration span, Instant now) noexcept;

  // A place in the future. token_bucket: whenever the cost can fit at all and within 10 years.
  // leaky_bucket: as take, the wait being the delay. Others cannot charge a window to come: they
  // grant only what fits at once.
  Reservation reserve(Cost cost = 1) noexcept { return reserve(cost, clock_.now()); }
  Reservation reserve(Cost cost, Instant now) noexcept;

  // Blocks until granted. First come, first served among those who wait; each sleeps until its own
  // turn and nobody polls. Buckets charge a waiter when it joins the line, so try_acquire() does
  // not overtake it; when one leaves early those behind move up, and a live change moves all. Other
  // algorithms charge when the turn comes, and try_acquire() may get there first. leaky_bucket:
  // no free waiting place is `queue_full`.
  AcquireResult acquire(Cost cost = 1, Instant deadline = kInstantMax,
                        const std::stop_token& stop = {});

  // From now on. A changed count or burst keeps the tokens or the debt, clamped to the new burst; a
  // changed algorithm or period starts at rest (docs/semantics.md). The same limit again does
  // nothing. Those who wait are given new turns; reservations keep theirs. Errors: as open().
  Result<void> set_limit(const Limit& limit);
  Limit limit() const;

  // As if never used: full, no block. Those who wait keep their order and are charged anew.
  void reset() noexcept;

  // Wakes all who wait with `closed`, and refuses to let anybody wait again. Decisions go on.
  void close() noexcept;

  WaitStats wait_stats() const noexcept;

 private:
  friend class LeasedLimiter;
  friend class Reservation;
  class Line;  // Those who wait, and what was reserved: src/library/limiter_line.h.

  Limiter(const Limit& limit, const Clock& clock, const LimiterOptions& options);

  // token_bucket::try_take(), and for one token of a whole number of nanoseconds without its
  // fractions: short enough to hide behind the lock.
  bool try_take_plain_locked(Cost cost, Instant now) noexcept {
    if (cost != 1 || state_.payload != 0 || plan_.interval.early != 0) [[unlikely]] {
      return token_bucket::try_take(state_, plan_, cost, now);
    }
    const std::int64_t full_at =
        saturating_add(std::max(state_.rest_at.ns, now.ns), plan_.interval.ns);
    if (saturating_sub(full_at, now.ns) > plan_.capacity_span.ns) return false;
    state_.rest_at.ns = full_at;
    return true;
  }

  // For LeasedLimiter: charges the cost if `left` more would fit, too.
  bool try_acquire_leaving(Cost cost, Cost left, Instant now) noexcept;

  static std::vector<std::uint64_t> memory_for(const LimitPlan& plan);

  // Under lock_.
  Decision take_locked(Cost cost, Instant now) noexcept;
  Decision peek_locked(Cost cost, Instant now) const noexcept;
  Decision foresee_locked(Cost cost, Instant now) const noexcept;  // What take_locked() will say.
  void refund_locked(Cost cost, Instant now) noexcept;
  void charge_locked(Cost cost, Instant now) noexcept;
  void adopt_locked(const LimitPlan& plan, std::vector<std::uint64_t>& memory,
                    Instant now) noexcept;
  algorithm::Memory memory_locked() noexcept;
  algorithm::ConstMemory memory_locked() const noexcept;
  void hint_locked(Instant refused_until) noexcept;

  // The hot line.
  alignas(64) mutable SpinLock lock_;
  std::atomic<std::int64_t> refused_until_ns_{
      0};  // Every cost but 0; at least to the end of a block.
  State state_;
  State block_;  // algorithm/block_for.h

  // Written by live changes alone, under lock_.
  alignas(64) LimitPlan plan_;
  bool is_plain_bucket_ = false;  // token_bucket without overdraft and block_for.
  bool has_waiters_ = false;      // Or had, when last looked at.
  LimitPlan state_plan_;          // The numbers of state_: plan_, or the last with requests > 0.
  std::vector<std::uint64_t> memory_;  // Of sub-windows and log.

  const Clock& clock_;
  std::unique_ptr<Line> line_;
};

inline Cost Reservation::cancel() noexcept {
  return limiter_ == nullptr ? 0 : cancel(limiter_->clock_.now());
}

}  // namespace sluice
