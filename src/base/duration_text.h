// Durations as people write them: `100ms`, `1m30s`, `5.1s`, `30d`.
#pragma once

#include <string>
#include <string_view>

#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/time.h"

namespace sluice {

// One or more numbers, each with a unit of d h m s ms us ns, largest unit first, decimals allowed
// as long as the whole is a whole number of nanoseconds. A bare `0` is fine; anything else without
// a unit, a sign or a sum beyond 292 years is invalid_argument.
Result<Duration> parse_duration(std::string_view text);

// What parse_duration reads back as the same: `1m30s`, `0s`.
std::string format_duration(Duration duration);

}  // namespace sluice
