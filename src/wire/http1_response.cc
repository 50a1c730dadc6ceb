#include "wire/http1_response.h"

namespace sluice::http1 {

std::string_view reason_of(unsigned status) noexcept {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

void append_head(ByteBuffer& out, const ResponseHead& head) {
  out.append("HTTP/1.1 ");
  out.append_number(head.status);
  out.append(' ');
  out.append(reason_of(head.status));
  if (!head.date.empty()) {
    out.append("\r\nDate: ");
    out.append(head.date);
  }
  if (!head.content_type.empty()) {
    out.append("\r\nContent-Type: ");
    out.append(head.content_type);
  }
  out.append("\r\n");
  out.append(head.further_fields);
  if (head.connection == ConnectionField::close) out.append("Connection: close\r\n");
  if (head.connection == ConnectionField::keep_alive) out.append("Connection: keep-alive\r\n");
  out.append("Content-Length: ");
  out.append_number(head.body_bytes);
  out.append("\r\n\r\n");
}

}  // namespace sluice::http1
