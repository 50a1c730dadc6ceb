// The daemon's log, on standard error: plain lines for people, JSON objects when asked. Never a
// line for each request.
#pragma once

#include <string_view>

namespace sluice {

enum class LogLines { plain, json };

// Sets spdlog's default logger. `level` is one of debug, info, warn and error. Once, before
// threads.
void set_up_logging(std::string_view level, LogLines lines);

}  // namespace sluice
