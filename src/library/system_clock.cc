#include "sluice/system_clock.h"

namespace sluice {
namespace {

constexpr Duration kLookEvery = std::chrono::seconds{1};

std::int64_t read_wall() noexcept {
  return std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

SystemClock::SystemClock() noexcept
    : wall_at_start_ns_(saturating_sub(read_wall(), read_monotonic())),
      next_look_ns_((now() + kLookEvery).ns) {}

void SystemClock::look_at_wall(Instant now) const noexcept {
  std::int64_t due = next_look_ns_.load(std::memory_order_relaxed);
  if (now.ns < due) return;
  const std::int64_t next = (now + kLookEvery).ns;
  // One of those who came at once looks.
  if (!next_look_ns_.compare_exchange_strong(due, next, std::memory_order_relaxed)) return;
  const std::int64_t wall = read_wall();
  anchor_.observe({saturating_add(read_monotonic(), wall_at_start_ns_)}, {wall});
}

}  // namespace sluice
