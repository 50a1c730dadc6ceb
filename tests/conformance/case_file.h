// Conformance files (docs/semantics.md describes what they check): text -> cases. Every error names
// its file and line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/limit.h"

namespace sluice::conformance {

enum class Action : std::uint8_t { take, peek, refund, release, renew, change_limit };

// What stands right of `->`. A field that is not there is not compared.
struct Expected {
  std::string outcome;  // allowed denied never ok not_found; empty: nothing is expected.
  std::optional<std::uint32_t> limit;
  std::optional<std::uint32_t> remaining;
  std::optional<Duration> retry;
  std::optional<Duration> reset;
  std::optional<Duration> delay;
};

struct Step {
  int line = 0;
  Instant at;
  Action action = Action::take;
  Cost cost = 1;
  std::string key;     // Empty: the case's only one.
  std::string permit;  // release, renew; and what an acquire is to be known as.
  Limit limit;         // change_limit.
  Expected expected;
};

struct Case {
  std::string file;
  int line = 0;
  std::string name;
  Limit limit;
  std::vector<Step> steps;
};

// The cases of a file, in order. invalid_argument: `file:line: reason`.
Result<std::vector<Case>> parse_case_file(const std::string& file, std::string_view text);

// `0`, `99999999ns`, `250us`, `100ms`, `5.1s`, `1m30s`, `2h`, `30d`: exact, or nothing.
std::optional<Duration> parse_duration(std::string_view text);

// The same form, with the largest unit that divides.
std::string format_duration(Duration duration);

}  // namespace sluice::conformance
