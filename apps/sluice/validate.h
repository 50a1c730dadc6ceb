// `sluice validate PATH...`: every problem of rule and settings files as `file:line: reason`.
#pragma once

#include <CLI/CLI.hpp>

namespace sluice {

void add_validate(CLI::App& app, int& exit_status);

}  // namespace sluice
