// Why a descriptor gets the limits it gets, in words for a person at a terminal: what matched at
// each entry and how, which limits apply, and where nothing matched, what nearly did.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "engine/rule_matcher.h"

namespace sluice {

enum class TextStyle : std::uint8_t { plain, terminal };  // terminal: with bold and colour.

// Counts nothing. Several lines, each ended.
std::string explain_match(const RuleMatcher& matcher, std::string_view domain,
                          std::span<const Entry> entries, TextStyle style = TextStyle::plain);

// `100 each 1m, token_bucket, burst 20`.
std::string describe_limit(const RuleLimit& rule);

}  // namespace sluice
