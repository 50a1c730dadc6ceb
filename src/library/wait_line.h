// The line of threads blocked on one limiter: first come, first served, bounded. Each sleeps on its
// own Wakeup until the instant at which its turn was due when it lay down; only the first is ever
// re-planned, and rung when its turn moved forward, so a waiter wakes once, or twice when plans
// change. Whose turn it is, and what joining and leaving mean for the limit, the derived class
// says.
//
// A Waiter lives on its thread's stack. It is in the line, and touched by others, only under the
// mutex; its own thread takes the mutex once more before it goes.
#pragma once

#include <condition_variable>
#include <list>
#include <optional>
#include <stop_token>

#include "base/mutex.h"
#include "sluice/vocabulary/clock.h"
#include "sluice/vocabulary/limit.h"
#include "sluice/waiting.h"

namespace sluice {

struct Waiter {
  Cost cost = 1;
  Instant deadline = kInstantMax;
  Instant sleeps_until;                   // The past: awake.
  std::optional<AcquireOutcome> outcome;  // Set when it has left the line.
  Wakeup wakeup;
};

// When a waiter's turn is.
struct Turn {
  enum class Kind : std::uint8_t { now, later, never } kind = Kind::later;
  Instant at = kInstantMax;  // later: not before; kInstantMax: when something else happens.
};

class WaitLine {
 public:
  WaitLine(const WaitLine&) = delete;
  WaitLine& operator=(const WaitLine&) = delete;

  void close() noexcept SLUICE_EXCLUDES(mutex_);
  WaitStats stats() const noexcept SLUICE_EXCLUDES(mutex_);

 protected:
  using Position = std::list<Waiter*>::iterator;

  WaitLine(const Clock& clock, std::size_t waiters_max) noexcept
      : clock_(clock), waiters_max_(waiters_max) {}
  ~WaitLine() = default;

  // The first's turn. `now`: it has been charged where that is done at its turn, and leaves.
  virtual Turn take_turn(Waiter& first, Instant now) noexcept SLUICE_REQUIRES(mutex_) = 0;
  // A waiter leaves without its turn: what it was charged is given back.
  virtual void leave(Position waiter, Instant now) noexcept SLUICE_REQUIRES(mutex_) = 0;

  // Why nobody may join now, if so.
  std::optional<AcquireOutcome> refusal() const noexcept SLUICE_REQUIRES(mutex_);
  void join(Waiter& self, Instant turn_at) SLUICE_REQUIRES(mutex_);
  // After join(), without the mutex: blocks until the waiter has left the line.
  AcquireOutcome wait_out(Waiter& self, const std::stop_token& stop) noexcept
      SLUICE_EXCLUDES(mutex_);
  // Lets those go whose turn has come, and re-plans the first. To be called after every change that
  // may bring a turn forward.
  void settle(Instant now) noexcept SLUICE_REQUIRES(mutex_);
  void dismiss(Position waiter, AcquireOutcome outcome, Instant now) noexcept
      SLUICE_REQUIRES(mutex_);

  // Closes and blocks until all who waited are gone: for the derived class's destructor.
  void drain() noexcept SLUICE_EXCLUDES(mutex_);

  const Clock& clock_;
  mutable Mutex mutex_;
  std::list<Waiter*> line_ SLUICE_GUARDED_BY(mutex_);

 private:
  void finish(Position waiter, AcquireOutcome outcome) noexcept SLUICE_REQUIRES(mutex_);
  void settle_self(Waiter& self, const std::stop_token& stop) noexcept SLUICE_REQUIRES(mutex_);

  const std::size_t waiters_max_;
  bool is_closed_ SLUICE_GUARDED_BY(mutex_) = false;
  Instant first_turn_ SLUICE_GUARDED_BY(mutex_);
  std::uint64_t wake_ups_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::size_t threads_inside_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::condition_variable_any all_gone_;
};

}  // namespace sluice
