// Lets through who knows the token: `Authorization: Bearer TOKEN`. Health checks pass without, so
// that a proxy needs no secret to see that we live.
#pragma once

#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace sluice::server {

class TokenGate final : public HttpHandler {
 public:
  // An empty token lets everyone through. `inner` outlives the gate.
  TokenGate(std::string token, HttpHandler& inner);

  void serve(const http1::Request& request, Exchange& exchange) override;

 private:
  std::string token_;
  HttpHandler& inner_;
};

// Whether an Authorization field's value carries the token; takes as long for any wrong one.
bool has_token(std::string_view authorization, std::string_view token) noexcept;

}  // namespace sluice::server
