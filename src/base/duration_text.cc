#include "base/duration_text.h"

#include <algorithm>
#include <cstdint>

#include "sluice/vocabulary/wide.h"

namespace sluice {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ns;
};
constexpr Unit kUnits[] = {{"d", 86'400'000'000'000},
                           {"h", 3'600'000'000'000},
                           {"m", 60'000'000'000},
                           {"s", 1'000'000'000},
                           {"ms", 1'000'000},
                           {"us", 1'000},
                           {"ns", 1}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes one `5.1s` from the front of text and returns its nanoseconds, or -1. `unit_below` is
// above the largest unit still allowed and becomes this one: units only fall.
std::int64_t take_part(std::string_view& text, std::int64_t& unit_below) {
  constexpr std::size_t kDigitsMax = 19;
  Wide number = 0;
  Wide scale = 1;
  std::size_t digits = 0;
  bool is_fraction = false;
  std::size_t at = 0;
  for (; at < text.size() && (is_digit(text[at]) || (text[at] == '.' && !is_fraction)); ++at) {
    if (text[at] == '.') {
      is_fraction = true;
      continue;
    }
    if (++digits > kDigitsMax) return -1;
    number = number * 10 + static_cast<unsigned>(text[at] - '0');
    if (is_fraction) scale *= 10;
  }
  if (digits == 0 || !is_digit(text[at - 1])) return -1;
  const auto end =
      std::find_if(text.begin() + at, text.end(), [](char c) { return is_digit(c) || c == '.'; });
  const std::string_view name(text.begin() + at, end);
  const auto* const unit =
      std::ranges::find_if(kUnits, [&](const Unit& known) { return known.name == name; });
  if (unit == std::end(kUnits) || unit->ns >= unit_below) return -1;
  unit_below = unit->ns;
  text = std::string_view(end, text.end());
  const Wide ns = number * static_cast<std::uint64_t>(unit->ns);
  if (ns % scale != 0 || ns / scale > static_cast<std::uint64_t>(kNever.count() - 1)) return -1;
  return static_cast<std::int64_t>(ns / scale);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text == "0") return Duration{0};
  Error error{ErrorCode::invalid_argument, "'"};
  error.message.append(text).append("' is not a duration such as 100ms, 1m30s or 30d");
  std::int64_t sum = 0;
  std::int64_t unit_below = kNever.count();
  std::string_view rest = text;
  do {
    const std::int64_t part = take_part(rest, unit_below);
    if (part < 0 || __builtin_add_overflow(sum, part, &sum)) return error;
  } while (!rest.empty());
  return Duration{sum};
}

std::string format_duration(Duration duration) {
  std::string text;
  std::int64_t rest = duration.count();
  for (const Unit& unit : kUnits) {
    if (rest < unit.ns) continue;
    text += std::to_string(rest / unit.ns);
    text += unit.name;
    rest %= unit.ns;
  }
  return text.empty() ? "0s" : text;
}

}  // namespace sluice
