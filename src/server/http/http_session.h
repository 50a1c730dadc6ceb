// HTTP/1.1 on one connection: requests in, one after the other, answers out in the same order and
// together in one write. The loop's thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "net/session.h"
#include "server/http/exchange.h"
#include "wire/http1_request.h"

namespace sluice::server {

// `handler` outlives the session.
class HttpSession final : public net::Session, Exchange {
 public:
  HttpSession(net::Connection& connection, const http1::RequestLimits& limits,
              HttpHandler& handler);

  Progress receive(std::span<char> bytes, ByteBuffer& out) override;
  void time_out(ByteBuffer& out) override;

 private:
  void respond(const Response& response) override;
  void write(const Response& response, ByteBuffer& out);
  void refuse(unsigned status, std::string_view detail, ByteBuffer& out);
  bool serve();

  net::Connection& connection_;
  HttpHandler& handler_;
  http1::RequestReader reader_;
  bool is_serving_ = false;   // Within handler_.serve().
  bool is_answered_ = false;  // The request that reader_ holds complete.
  bool is_waiting_ = false;   // For the answer of that request.
  bool closes_ = false;       // The last answer said Connection: close.
};

}  // namespace sluice::server
