// The table behind Settings: one row for each setting, with its type, default and meaning, and how
// a value enters Settings. For the readers of files, variables and flags, and for the generator of
// their documentation.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/settings.h"
#include "sluice/vocabulary/error.h"

namespace sluice {

// Index into setting_table().
std::optional<std::size_t> find_setting(std::string_view path);

// One value, or those of a list. The error says what is expected; Settings is then unchanged.
Result<void> apply_setting(Settings& settings, std::size_t index,
                           std::span<const std::string> values);

// HOST:PORT, an IPv6 host in brackets, port 0 to 65535.
Result<void> check_address(std::string_view address);

}  // namespace sluice
