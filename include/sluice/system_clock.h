// The clock of a running program: the wall clock is read once, at construction, and CLOCK_MONOTONIC
// carries on from there. Both are slewed alike by NTP, so they part only when the wall clock is
// stepped (or the machine slept); whoever asks the time looks for that at most once a second.
#pragma once

#include <atomic>

#include "sluice/vocabulary/clock.h"

namespace sluice {

// Follows the distance from the steady line to the wall clock, in steps only: what is less than
// kStepMin away is jitter of two clock reads, and moving windows for it would help nobody.
class WallAnchor {
 public:
  static constexpr Duration kStepMin = std::chrono::milliseconds{10};

  // Any thread.
  Duration offset() const noexcept { return Duration{offset_ns_.load(std::memory_order_relaxed)}; }
  void observe(Instant steady, Instant wall) noexcept {
    const Duration distance = wall - steady;
    const Duration step = distance - offset();
    if (step >= kStepMin || step <= -kStepMin) {
      offset_ns_.store(distance.count(), std::memory_order_relaxed);
    }
  }

 private:
  std::atomic<std::int64_t> offset_ns_{0};
};

// Any thread. now() is one read of CLOCK_MONOTONIC; wall_offset() one load, as of the last now().
class SystemClock final : public Clock {
 public:
  SystemClock() noexcept;

  Instant now() const noexcept override {
    const Instant now{saturating_add(read_monotonic(), wall_at_start_ns_)};
    if (now.ns >= next_look_ns_.load(std::memory_order_relaxed)) [[unlikely]]
      look_at_wall(now);
    return now;
  }
  Duration wall_offset() const noexcept override { return anchor_.offset(); }

 private:
  static std::int64_t read_monotonic() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch().count();
  }
  void look_at_wall(Instant now) const noexcept;

  std::int64_t wall_at_start_ns_;  // Unix time at the zero of CLOCK_MONOTONIC.
  mutable std::atomic<std::int64_t> next_look_ns_;
  mutable WallAnchor anchor_;
};

}  // namespace sluice
