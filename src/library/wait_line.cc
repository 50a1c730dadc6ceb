#include "library/wait_line.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr Instant kAwake{std::numeric_limits<std::int64_t>::min()};

}  // namespace

std::optional<AcquireOutcome> WaitLine::refusal() const noexcept {
  if (is_closed_) return AcquireOutcome::closed;
  if (line_.size() >= waiters_max_) return AcquireOutcome::queue_full;
  return std::nullopt;
}

void WaitLine::join(Waiter& self, Instant turn_at) {
  self.sleeps_until = std::min(turn_at, self.deadline);
  line_.push_back(&self);
  ++threads_inside_;
}

AcquireOutcome WaitLine::wait_out(Waiter& self, const std::stop_token& stop) noexcept {
  const std::stop_callback on_stop(stop, [&self] { self.wakeup.ring(); });
  for (;;) {
    mutex_.lock();
    const Instant until = self.sleeps_until;
    mutex_.unlock();
    if (until != kAwake) clock_.sleep(self.wakeup, until);

    const MutexLock lock(mutex_);
    ++wake_ups_;
    settle_self(self, stop);
    if (!self.outcome) continue;
    if (--threads_inside_ == 0) all_gone_.notify_all();
    return *self.outcome;
  }
}

void WaitLine::settle_self(Waiter& self, const std::stop_token& stop) noexcept {
  if (self.outcome) return;
  self.sleeps_until = kAwake;
  const Instant now = clock_.now();
  settle(now);
  if (self.outcome) return;
  const bool is_stopped = stop.stop_requested();
  if (is_stopped || now >= self.deadline) {
    dismiss(std::find(line_.begin(), line_.end(), &self),
            is_stopped ? AcquireOutcome::cancelled : AcquireOutcome::deadline, now);
    settle(now);
    return;
  }
  const bool is_first = line_.front() == &self;
  self.sleeps_until = std::min(is_first ? first_turn_ : kInstantMax, self.deadline);
}

void WaitLine::settle(Instant now) noexcept {
  while (!line_.empty()) {
    Waiter& first = *line_.front();
    const Turn turn = take_turn(first, now);
    if (turn.kind == Turn::Kind::now) {
      finish(line_.begin(), AcquireOutcome::granted);
    } else if (turn.kind == Turn::Kind::never) {
      dismiss(line_.begin(), AcquireOutcome::never, now);
    } else {
      first_turn_ = turn.at;
      if (turn.at < first.sleeps_until) {
        first.sleeps_until = std::min(turn.at, first.deadline);
        first.wakeup.ring();
      }
      return;
    }
  }
}

void WaitLine::finish(Position waiter, AcquireOutcome outcome) noexcept {
  Waiter& gone = **waiter;
  gone.outcome = outcome;
  line_.erase(waiter);
  if (gone.sleeps_until != kAwake) gone.wakeup.ring();
}

void WaitLine::dismiss(Position waiter, AcquireOutcome outcome, Instant now) noexcept {
  leave(waiter, now);
  finish(waiter, outcome);
}

void WaitLine::close() noexcept {
  const Instant now = clock_.now();
  const MutexLock lock(mutex_);
  is_closed_ = true;
  while (!line_.empty()) dismiss(std::prev(line_.end()), AcquireOutcome::closed, now);
}

void WaitLine::drain() noexcept {
  close();
  const MutexLock lock(mutex_);
  while (threads_inside_ > 0) all_gone_.wait(mutex_);
}

WaitStats WaitLine::stats() const noexcept {
  const MutexLock lock(mutex_);
  return {.waiting = line_.size(), .wake_ups = wake_ups_};
}

}  // namespace sluice
