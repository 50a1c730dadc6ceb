#include "server/http/exchange.h"

#include <string>

#include "base/byte_buffer.h"

namespace sluice::server {

void respond_problem(Exchange& exchange, const ProblemDocument& problem,
                     std::string_view further_fields) {
  ByteBuffer body;
  append_problem(body, problem);
  exchange.respond({.status = problem.status,
                    .content_type = kProblemType,
                    .further_fields = further_fields,
                    .body = body.view()});
}

void respond_text(Exchange& exchange, unsigned status, std::string_view text) {
  exchange.respond({.status = status,
                    .content_type = "text/plain; charset=utf-8",
                    .further_fields = {},
                    .body = text});
}

void respond_not_allowed(Exchange& exchange, std::string_view allowed) {
  const std::string list(allowed);
  const std::string detail = "this path takes " + list;
  respond_problem(exchange, {.status = 405, .detail = detail, .field = {}, .title = {}},
                  "Allow: " + list + "\r\n");
}

}  // namespace sluice::server
