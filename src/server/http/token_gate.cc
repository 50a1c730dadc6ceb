#include "server/http/token_gate.h"

#include <utility>

#include <strings.h>

namespace sluice::server {

bool has_token(std::string_view authorization, std::string_view token) noexcept {
  constexpr std::string_view kScheme = "Bearer ";
  if (authorization.size() != kScheme.size() + token.size()) return false;
  if (::strncasecmp(authorization.data(), kScheme.data(), kScheme.size()) != 0) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < token.size(); ++i) {
    difference |= static_cast<unsigned char>(authorization[kScheme.size() + i] ^ token[i]);
  }
  return difference == 0;
}

TokenGate::TokenGate(std::string token, HttpHandler& inner)
    : token_(std::move(token)), inner_(inner) {}

void TokenGate::serve(const http1::Request& request, Exchange& exchange) {
  if (token_.empty() || has_token(request.authorization, token_) || request.path == "/healthz" ||
      request.path == "/readyz") {
    return inner_.serve(request, exchange);
  }
  respond_problem(exchange,
                  {.status = 401,
                   .detail = request.authorization.empty()
                                 ? "send Authorization: Bearer and this listener's token"
                                 : "this is not this listener's token",
                   .field = "Authorization",
                   .title = {}},
                  "WWW-Authenticate: Bearer\r\n");
}

}  // namespace sluice::server
