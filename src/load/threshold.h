// `NAME OP VALUE`: what must hold for a run to pass, such as `allowed==100`, `p99<5ms` or
// `error_rate<=0.1%`. Names are looked up when the run is over (load_tally.h lists them); a latency
// is compared in nanoseconds, a share as 0 to 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/vocabulary/error.h"

namespace sluice::load {

struct Threshold {
  enum class Operator : std::uint8_t { equal, unequal, less, at_most, greater, at_least };
  enum class Unit : std::uint8_t { number, share, nanoseconds };

  std::string text;  // As it was written.
  std::string name;
  Operator op = Operator::equal;
  double value = 0;  // Percent is already a share, a time already nanoseconds.
  Unit unit = Unit::number;

  bool holds_for(double actual) const noexcept;
};

// Errors: invalid_argument with what was expected. Blanks around the operator are fine.
Result<Threshold> parse_threshold(std::string_view text);

}  // namespace sluice::load
