// Time as the library sees it: one steady line of nanoseconds. An Instant starts out equal to Unix
// time (the wall clock read once, at start) and then only ever follows the monotonic clock, so a
// step of the wall clock moves no bucket, block or permit. What must agree with the wall (windows
// that are multiples of a period in Unix time) adds the `wall_offset` that a Clock reports. Sums
// saturate: no instant and no wait ever wraps.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace sluice {

using Duration = std::chrono::nanoseconds;

// A wait that never ends: the cost can never fit.
inline constexpr Duration kNever = Duration::max();

constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

constexpr std::int64_t saturating_sub(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

struct Instant {
  std::int64_t ns = 0;  // Since 1970-01-01T00:00:00Z on the steady line; 0 is also "never".

  friend constexpr auto operator<=>(Instant, Instant) noexcept = default;
  friend constexpr Instant operator+(Instant at, Duration wait) noexcept {
    return {saturating_add(at.ns, wait.count())};
  }
  friend constexpr Instant operator-(Instant at, Duration wait) noexcept {
    return {saturating_sub(at.ns, wait.count())};
  }
  friend constexpr Duration operator-(Instant later, Instant earlier) noexcept {
    return Duration{saturating_sub(later.ns, earlier.ns)};
  }
};

inline constexpr Instant kInstantMax{std::numeric_limits<std::int64_t>::max()};

}  // namespace sluice
