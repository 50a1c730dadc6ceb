// How one thread sleeps until another rings. A ring is remembered: it may come before the sleep and
// is spent by one return. Whoever rings must know that the Wakeup still lives.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "sluice/vocabulary/time.h"

namespace sluice {

class Wakeup {
 public:
  // Any thread.
  void ring() noexcept {
    const std::lock_guard lock(mutex_);
    is_rung_ = true;
    rung_.notify_one();  // Under the lock: the sleeper may end the Wakeup as soon as it is free.
  }

  // Until rung.
  void wait() noexcept {
    std::unique_lock lock(mutex_);
    rung_.wait(lock, [this] { return is_rung_; });
    is_rung_ = false;
  }

  // Until rung, or for `span` of real time. A span of a day or more is cut to a day.
  void wait_for(Duration span) noexcept {
    std::unique_lock lock(mutex_);
    const Duration longest = std::chrono::hours{24};  // Far from where a time point would wrap.
    rung_.wait_for(lock, span < longest ? span : longest, [this] { return is_rung_; });
    is_rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  bool is_rung_ = false;
};

}  // namespace sluice
