// The query of a request target: key=value pairs joined by '&', form-encoded (%XX, '+' is a space).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sluice/vocabulary/error.h"

namespace sluice {

using Query = std::vector<std::pair<std::string, std::string>>;

// In written order; a pair without '=' has an empty value. invalid_argument: a broken %XX.
Result<Query> parse_query(std::string_view query);

// The inverse for one key or value.
std::string encode_query_part(std::string_view text);

}  // namespace sluice
