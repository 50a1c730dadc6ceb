// `sluice key get|reset`: one key of a running daemon, looked at or forgotten, through its admin
// port.
#pragma once

#include <CLI/CLI.hpp>

namespace sluice {

void add_key(CLI::App& app, int& exit_status);

}  // namespace sluice
