#include "sluice/fake_clock.h"

namespace sluice {

void FakeClock::sleep(Wakeup& wakeup, Instant until) const noexcept {
  std::list<Sleeper>::iterator self;
  {
    const std::lock_guard lock(mutex_);
    if (until.ns <= now_ns_.load(std::memory_order_relaxed)) return;
    self = sleepers_.insert(sleepers_.end(), {&wakeup, until});
    fell_asleep_.notify_all();
  }
  wakeup.wait();
  const std::lock_guard lock(mutex_);
  sleepers_.erase(self);
}

void FakeClock::set(Instant now) noexcept {
  const std::lock_guard lock(mutex_);
  now_ns_.store(now.ns, std::memory_order_relaxed);
  wake_due();
}

void FakeClock::advance(Duration by) noexcept {
  const std::lock_guard lock(mutex_);
  now_ns_.store((Instant{now_ns_.load(std::memory_order_relaxed)} + by).ns,
                std::memory_order_relaxed);
  wake_due();
}

void FakeClock::wake_due() noexcept {
  const Instant now{now_ns_.load(std::memory_order_relaxed)};
  for (const Sleeper& sleeper : sleepers_) {
    if (sleeper.until <= now) sleeper.wakeup->ring();
  }
}

void FakeClock::await_sleepers(std::size_t count) const noexcept {
  std::unique_lock lock(mutex_);
  fell_asleep_.wait(lock, [&] { return sleepers_.size() >= count; });
}

std::size_t FakeClock::sleepers() const noexcept {
  const std::lock_guard lock(mutex_);
  return sleepers_.size();
}

}  // namespace sluice
