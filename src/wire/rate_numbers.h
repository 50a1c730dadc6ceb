// Durations and units as the protocols show them. Waits are rounded up, so that whoever comes back
// when told passes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sluice/vocabulary/time.h"

namespace sluice {

// Requires wait != kNever and not negative.
constexpr std::int64_t ceil_to_ms(Duration wait) noexcept {
  return wait.count() / 1'000'000 + (wait.count() % 1'000'000 > 0 ? 1 : 0);
}
constexpr std::int64_t ceil_to_seconds(Duration wait) noexcept {
  return wait.count() / 1'000'000'000 + (wait.count() % 1'000'000'000 > 0 ? 1 : 0);
}

// envoyproxy/ratelimit's units: a month is 30 days, a year 365.
struct Unit {
  std::string_view name;       // As in rule files.
  std::string_view enum_name;  // As in its API.
  int enum_number;
  Duration period;
};
inline constexpr std::array<Unit, 7> kUnits{{
    {"second", "SECOND", 1, std::chrono::seconds{1}},
    {"minute", "MINUTE", 2, std::chrono::minutes{1}},
    {"hour", "HOUR", 3, std::chrono::hours{1}},
    {"day", "DAY", 4, std::chrono::hours{24}},
    {"week", "WEEK", 7, std::chrono::hours{24 * 7}},
    {"month", "MONTH", 5, std::chrono::hours{24 * 30}},
    {"year", "YEAR", 6, std::chrono::hours{24 * 365}},
}};

constexpr const Unit* find_unit(std::string_view name) noexcept {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

// The largest unit of which `period` is a multiple; null below a second.
constexpr const Unit* unit_of(Duration period) noexcept {
  const Unit* found = nullptr;
  for (const Unit& unit : kUnits) {
    if (period % unit.period == Duration{0}) found = &unit;
  }
  return found;
}

}  // namespace sluice
