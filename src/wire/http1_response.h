// HTTP/1.1 response heads, written into the buffer that is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/byte_buffer.h"

namespace sluice::http1 {

enum class ConnectionField : std::uint8_t { none, close, keep_alive };

struct ResponseHead {
  unsigned status = 200;
  std::string_view date;            // As RFC 9110 5.6.7 writes it.
  std::string_view content_type;    // Empty: no such field.
  std::string_view further_fields;  // Whole lines, each ended by CRLF.
  std::size_t body_bytes = 0;
  ConnectionField connection = ConnectionField::none;
};

inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// The registered phrase, "Unknown" for a status that this server does not send.
std::string_view reason_of(unsigned status) noexcept;

void append_head(ByteBuffer& out, const ResponseHead& head);

}  // namespace sluice::http1
