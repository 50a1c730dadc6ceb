// `sluice serve`: the daemon. Wiring and flags; the parts are in src/.
#pragma once

#include <CLI/CLI.hpp>

namespace sluice {

void add_serve(CLI::App& app, int& exit_status);

}  // namespace sluice
