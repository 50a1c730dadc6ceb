// What `sluice check` and `sluice key` share: asking a daemon and reading what it says.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "load/http_call.h"

namespace sluice {

struct Asked {
  load::HttpAnswer answer;
  boost::json::object body;  // Empty when the body is no JSON object.
};

// One request to http://`server``target`. Errors: as call_http(), with the server's name in front;
// invalid_argument for a server that is no HOST:PORT.
Result<Asked> ask(std::string_view server, std::string_view method, std::string_view target,
                  std::string body);

// Splits each KEY=VALUE at its first '='. Throws CLI::ValidationError.
std::vector<std::pair<std::string, std::string>> parse_entries(
    const std::vector<std::string>& texts);

// What a problem document says, with the field it names; the status when it says nothing.
std::string problem_text(const Asked& asked);

// Of a member of that type; the default when there is none.
std::string text_of(const boost::json::object& object, std::string_view name);

// `40ms`, `12s`, `3m 20s`: for people, rounded up.
std::string wait_text(std::int64_t milliseconds);

// Whether stdout takes colours: a terminal, and NO_COLOR is not set.
bool has_colours();

}  // namespace sluice
