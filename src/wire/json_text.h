// Pieces of JSON text, appended to a buffer.
#pragma once

#include <string_view>

#include "base/byte_buffer.h"

namespace sluice {

// Quoted, with what RFC 8259 wants escaped. Bytes that are not UTF-8 become U+FFFD: what is written
// is always valid JSON, whatever a caller's value holds.
void append_json_string(ByteBuffer& out, std::string_view text);

// {"type":...,"title":...,"status":...,"detail":...,"field":...}, RFC 9457; `field` only if given.
struct ProblemDocument {
  unsigned status = 400;
  std::string_view detail;
  std::string_view field;  // Path of what is wrong in the request's body, as descriptors[0].hits.
  std::string_view type = "about:blank";
  std::string_view title;  // Empty: the status's phrase.
};
inline constexpr std::string_view kProblemType = "application/problem+json";
inline constexpr std::string_view kReducedCapacityType =
    "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
void append_problem(ByteBuffer& out, const ProblemDocument& problem);

}  // namespace sluice
