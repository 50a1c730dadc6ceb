// Who waits for a Limiter, and what was reserved.
//
// Buckets charge ahead: the state already holds the cost of everybody in the line and of every
// reservation, so a refused try_acquire() is told the truth and cannot overtake. The turn of the
// first is then found by asking a copy of the state from which the cost of the line has been taken
// off again: nothing is remembered that a refund, a penalty or a live change would have to correct.
//
// Giving back is where a bucket is easily made to overshoot. The later places were computed on top
// of the cost that now goes: full refund of the first of two reservations of 10 (burst 10) would
// let 20 pass at the second's instant. A waiter behind simply moves up; a Reservation cannot, its
// holder was told the instant. So what was reserved behind, up to the cost, is kept.
#pragma once

#include "library/wait_line.h"
#include "sluice/limiter.h"

namespace sluice {

class Limiter::Line final : public WaitLine {
 public:
  Line(Limiter& limiter, std::size_t waiters_max) noexcept
      : WaitLine(limiter.clock_, waiters_max), limiter_(limiter) {}
  ~Line() { drain(); }

  AcquireResult acquire(Cost cost, Instant deadline, const std::stop_token& stop);
  Reservation reserve(Cost cost, Instant now) noexcept;
  Cost cancel(const Reservation& reservation, Instant now) noexcept;
  // After a change of the state that found has_waiters_.
  void settle_after_change(Instant now) noexcept;
  // A live change; the limit in force changes nothing. Or a reset, to the limit in force.
  void adopt(const LimitPlan& plan);
  void reset() noexcept;

 private:
  struct ChargedWaiter : Waiter {
    Cost behind = 0;          // Reserved by others between this waiter and the next.
    std::uint64_t place = 0;  // reserved_ when it joined, its own cost included.
  };
  static ChargedWaiter& charged(Waiter* waiter) noexcept {
    return *static_cast<ChargedWaiter*>(waiter);  // All that join this line.
  }
  struct Place {
    AcquireOutcome outcome = AcquireOutcome::granted;
    Duration wait{0};
    bool must_wait = false;  // Granted, but in its turn.
    Instant turn_at{};
  };
  // Both charge what they grant, unless it must wait and is charged in its turn.
  Place take_place(Cost cost, Instant now, Duration wait_max) noexcept SLUICE_REQUIRES(mutex_);
  Place take_place_ahead(Cost cost, Instant now, Duration wait_max) noexcept
      SLUICE_REQUIRES(mutex_);
  Place take_place_in_turn(Cost cost, Instant now, Duration wait_max) noexcept
      SLUICE_REQUIRES(mutex_);

  Turn take_turn(Waiter& first, Instant now) noexcept override SLUICE_REQUIRES(mutex_);
  Turn take_turn_ahead(Waiter& first, Instant now) noexcept SLUICE_REQUIRES(mutex_);
  void leave(Position waiter, Instant now) noexcept override SLUICE_REQUIRES(mutex_);
  void charge_anew(Instant now) noexcept SLUICE_REQUIRES(mutex_);

  Limiter& limiter_;
  // The cost of those in the line and of what was reserved behind the first.
  std::uint64_t line_cost_ SLUICE_GUARDED_BY(mutex_) = 0;
  // All cost ever charged ahead, less what was given back by the newest.
  std::uint64_t reserved_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::uint64_t changes_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
