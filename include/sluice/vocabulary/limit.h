// A limit: an algorithm and its numbers, nothing about where the state lives. Values only;
// validated by validate_limit() before any algorithm sees them.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/time.h"

namespace sluice {

// How many hits a request is worth. 0 peeks. What exceeds kCostMax can never fit.
using Cost = std::uint64_t;
inline constexpr Cost kCostMax = std::numeric_limits<std::uint32_t>::max();

enum class Algorithm : std::uint8_t {
  fixed_window,
  sliding_window,  // Two-window estimate, or sub-windows when Limit::sub_windows > 0.
  sliding_log,
  token_bucket,
  leaky_bucket,
  concurrency,
};

// As rule files write it: "token_bucket".
std::string_view algorithm_name(Algorithm algorithm) noexcept;

inline constexpr Duration kPeriodMin = std::chrono::milliseconds{1};
inline constexpr Duration kPeriodMax = std::chrono::hours{24 * 3650};  // 10 years
inline constexpr std::uint64_t kRateMax = 1'000'000'000;               // Hits a second.
inline constexpr std::uint32_t kSubWindowsMax = 1000;
inline constexpr std::uint32_t kSlidingLogRequestsMax = 65'536;
inline constexpr std::uint32_t kPermitsMax = 65'536;  // Of one concurrency key.

struct Limit {
  Algorithm algorithm = Algorithm::fixed_window;
  std::uint32_t requests = 0;  // Per period; of concurrency: at once. 0 refuses every cost.
  Duration period = std::chrono::seconds{1};  // [kPeriodMin, kPeriodMax]; ignored by concurrency.
  std::uint32_t burst = 0;        // token_bucket: capacity. leaky_bucket: waiting places.
  std::uint32_t sub_windows = 0;  // sliding_window: 0 or [1, kSubWindowsMax].
  Duration permit_ttl = std::chrono::seconds{60};  // concurrency: when a permit is taken back.
  Duration block_for{0};                           // After a refusal: refused for this long.
  Duration warm_up{0};
  bool count_denied = false;  // Windows only: refused hits are charged too.
  bool overdraft = false;     // Always allowed and charged, into debt if need be.

  friend bool operator==(const Limit&, const Limit&) = default;
};

// Whether the numbers lie within what the algorithms compute exactly: period and rate as above, a
// burst whose span is at most kPeriodMax, count_denied only on windows. The error names the field.
Result<void> validate_limit(const Limit& limit);

}  // namespace sluice
