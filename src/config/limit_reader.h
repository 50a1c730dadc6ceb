// One `rate_limit` of a rule file: from its mapping to a RuleLimit with checked numbers.
#pragma once

#include <optional>

#include "config/field_reader.h"
#include "sluice/vocabulary/rule.h"

namespace sluice {

// Nothing when a problem was logged. Ids and the flags of the descriptor are left to the caller.
std::optional<RuleLimit> read_limit(const YamlValue& mapping, ProblemLog& log);

}  // namespace sluice
