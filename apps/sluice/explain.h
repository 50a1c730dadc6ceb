// `sluice explain`: which rules a descriptor matches and why, without counting.
#pragma once

#include <CLI/CLI.hpp>

namespace sluice {

void add_explain(CLI::App& app, int& exit_status);

}  // namespace sluice
