#include "server/http/http_session.h"

#include <exception>

#include "net/connection.h"
#include "net/loop.h"
#include "wire/http1_response.h"

namespace sluice::server {
namespace {

using Reading = http1::RequestReader::Progress;

constexpr std::size_t kOutputBytesMax = 16384;  // Then it is sent before more is read.

// RFC 9112 2.2: a line end left over before a request line is to be passed over.
std::size_t line_ends(std::span<const char> bytes) noexcept {
  std::size_t count = 0;
  while (count < bytes.size() && (bytes[count] == '\r' || bytes[count] == '\n')) ++count;
  return count;
}

}  // namespace

HttpSession::HttpSession(net::Connection& connection, const http1::RequestLimits& limits,
                         HttpHandler& handler)
    : connection_(connection), handler_(handler), reader_(limits) {}

net::Session::Progress HttpSession::receive(std::span<char> bytes, ByteBuffer& out) {
  std::size_t consumed = 0;
  if (is_waiting_) {  // Its answer has been written meanwhile.
    is_waiting_ = false;
    consumed = reader_.request_bytes();
    reader_.reset();
    if (closes_) return {bytes.size(), consumed == bytes.size() ? State::closing : State::refused};
  }
  for (;;) {
    if (out.size() > kOutputBytesMax) return {consumed, State::full};
    if (reader_.is_fresh()) consumed += line_ends(bytes.subspan(consumed));
    const auto rest = bytes.subspan(consumed);
    if (rest.empty()) return {consumed, State::idle};
    switch (reader_.read(rest)) {
      case Reading::need_more:
        return {consumed, State::receiving};
      case Reading::wants_continue:
        out.append(http1::kContinue);
        return {consumed, State::receiving};
      case Reading::refused:
        refuse(reader_.refusal().status, reader_.refusal().detail, out);
        return {bytes.size(), State::refused};
      case Reading::complete:
        break;
    }
    if (!serve()) return {consumed, State::busy};
    consumed += reader_.request_bytes();
    reader_.reset();
    if (closes_) return {bytes.size(), consumed == bytes.size() ? State::closing : State::refused};
  }
}

// Whether the answer came at once.
bool HttpSession::serve() {
  is_answered_ = false;
  is_serving_ = true;
  handler_.serve(reader_.request(), *this);
  is_serving_ = false;
  is_waiting_ = !is_answered_;
  return is_answered_;
}

void HttpSession::respond(const Response& response) {
  is_answered_ = true;
  write(response, connection_.loop().output());
  if (!is_serving_) connection_.resume();
}

void HttpSession::write(const Response& response, ByteBuffer& out) {
  const http1::Request& request = reader_.request();
  closes_ = !request.keeps_alive || connection_.loop().is_draining();
  http1::append_head(out, {.status = response.status,
                           .date = connection_.loop().date(),
                           .content_type = response.content_type,
                           .further_fields = response.further_fields,
                           .body_bytes = response.body.size(),
                           .connection = closes_             ? http1::ConnectionField::close
                                         : request.is_http10 ? http1::ConnectionField::keep_alive
                                                             : http1::ConnectionField::none});
  if (request.method != http1::Method::head) out.append(response.body);
}

void HttpSession::refuse(unsigned status, std::string_view detail, ByteBuffer& out) {
  ByteBuffer body;
  append_problem(body, {.status = status, .detail = detail, .field = {}, .title = {}});
  http1::append_head(out, {.status = status,
                           .date = connection_.loop().date(),
                           .content_type = kProblemType,
                           .further_fields = {},
                           .body_bytes = body.size(),
                           .connection = http1::ConnectionField::close});
  out.append(body.view());
}

void HttpSession::time_out(ByteBuffer& out) {
  refuse(408, "the request did not arrive within the time this server waits", out);
}

}  // namespace sluice::server
