// `sluice load`: load on any HTTP/1.1 server, counted. src/load does the work.
#pragma once

#include <CLI/CLI.hpp>

namespace sluice {

void add_load(CLI::App& app, int& exit_status);

}  // namespace sluice
