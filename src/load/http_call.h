// One HTTP/1.1 exchange on a connection of its own, for commands that ask a daemon one thing.
// Blocks.
#pragma once

#include <string>

#include "load/request_template.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/time.h"

namespace sluice::load {

struct HttpAnswer {
  int status = 0;
  std::string header_lines;  // For find_header().
  std::string body;
};

// `timeout` bounds the whole exchange. Errors: not_found (host), store_unavailable (no connection,
// or it ended early), timeout, corrupt_data (no HTTP/1 answer, or larger than 64 MiB),
// invalid_argument (the request cannot be written).
Result<HttpAnswer> call_http(const RequestParts& request, Duration timeout);

}  // namespace sluice::load
