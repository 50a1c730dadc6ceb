// A clock for tests and simulations: time moves when it is told to, by any thread, and wakes those
// who sleep on it. It counts its reads, so that a test can say how many a decision costs.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>

#include "sluice/vocabulary/clock.h"

namespace sluice {

// Any thread. Starts at the Unix epoch unless told otherwise.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(Instant start = {}) noexcept : now_ns_(start.ns) {}

  Instant now() const noexcept override {
    reads_.fetch_add(1, std::memory_order_relaxed);
    return {now_ns_.load(std::memory_order_relaxed)};
  }
  Duration wall_offset() const noexcept override {
    return Duration{wall_offset_ns_.load(std::memory_order_relaxed)};
  }
  void sleep(Wakeup& wakeup, Instant until) const noexcept override;

  // May also go back: that is a caller whose clock lags.
  void set(Instant now) noexcept;
  void advance(Duration by) noexcept;
  // Steps the wall clock alone.
  void set_wall_offset(Duration offset) noexcept {
    wall_offset_ns_.store(offset.count(), std::memory_order_relaxed);
  }

  std::uint64_t reads() const noexcept { return reads_.load(std::memory_order_relaxed); }

  // Blocks (in real time) until `count` threads or more are asleep on this clock.
  void await_sleepers(std::size_t count) const noexcept;
  std::size_t sleepers() const noexcept;

 private:
  struct Sleeper {
    Wakeup* wakeup;
    Instant until;
  };
  void wake_due() noexcept;

  std::atomic<std::int64_t> now_ns_;
  std::atomic<std::int64_t> wall_offset_ns_{0};
  mutable std::atomic<std::uint64_t> reads_{0};
  mutable std::mutex mutex_;
  mutable std::condition_variable fell_asleep_;
  mutable std::list<Sleeper> sleepers_;
};

}  // namespace sluice
