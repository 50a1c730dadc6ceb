// Where time comes from. A Clock is passed to whatever needs one; nothing reads time behind its
// caller's back. SystemClock is in sluice/system_clock.h, FakeClock in sluice/fake_clock.h.
#pragma once

#include "sluice/vocabulary/time.h"
#include "sluice/vocabulary/wakeup.h"

namespace sluice {

class Clock {
 public:
  virtual ~Clock() = default;

  // The steady line of time.h. Any thread; never goes back on one thread.
  virtual Instant now() const noexcept = 0;

  // What to add to an Instant to get Unix time: 0 until the wall clock is stepped. Any thread;
  // cheap.
  virtual Duration wall_offset() const noexcept = 0;

  // Blocks this thread until `until`, or until rung. May return early: ask again. A clock that does
  // not run with real time overrides it.
  virtual void sleep(Wakeup& wakeup, Instant until) const noexcept {
    const Duration left = until - now();
    if (left > Duration{0}) wakeup.wait_for(left);
  }
};

}  // namespace sluice
