// The header fields of an answer: RateLimit-Policy and RateLimit (draft-ietf-httpapi-ratelimit-
// headers, the List form of -08 on), X-RateLimit-*, Retry-After, Cache-Control.
#pragma once

#include "base/byte_buffer.h"
#include "sluice/vocabulary/request.h"

namespace sluice {

// Whole lines, each ended by CRLF, about the limit that decides. Without one (nothing matched, or
// unlimited) only Cache-Control.
void append_rate_limit_fields(ByteBuffer& out, const Request& request, const Answer& answer);

}  // namespace sluice
