// Rules that are accepted and yet cannot be meant: they never apply, or replace nothing.
#pragma once

#include <vector>

#include "sluice/vocabulary/problem.h"
#include "sluice/vocabulary/rule_set.h"

namespace sluice {

std::vector<Problem> warnings_about(const RuleSet& rules);

}  // namespace sluice
