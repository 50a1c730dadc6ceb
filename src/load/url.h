// Where a request goes: `http://host[:port][/path][?query]`. Fragments are dropped, as a client
// does not send them; https is refused, since the load generator speaks plain HTTP/1.1 only.
#pragma once

#include <string>
#include <string_view>

#include "sluice/vocabulary/error.h"

namespace sluice::load {

struct Url {
  std::string host;       // Without the brackets of an IPv6 literal.
  std::string port;       // Decimal, 1 to 65535; "80" when the text has none.
  std::string authority;  // As the Host header says it.
  std::string target;     // Path and query, at least "/".
};

// Errors: invalid_argument, with what is wrong and the text itself. `http://` may be left out.
Result<Url> parse_url(std::string_view text);

}  // namespace sluice::load
