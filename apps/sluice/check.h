// `sluice check`: one decision from a running daemon, for shells and scripts.
#pragma once

#include <CLI/CLI.hpp>

namespace sluice {

void add_check(CLI::App& app, int& exit_status);

}  // namespace sluice
