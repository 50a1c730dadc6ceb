// One HTTP request on its way to an answer: what a handler is given, and how it answers. The loop's
// thread only.
#pragma once

#include <string_view>

#include "wire/http1_request.h"
#include "wire/json_text.h"

namespace sluice::server {

struct Response {
  unsigned status = 200;
  std::string_view content_type;
  std::string_view further_fields;  // Whole lines, each ended by CRLF.
  std::string_view body;
};

class Exchange {
 public:
  // Exactly once for each request; copies what it is given. Length, Date and Connection are added,
  // the body is left out for HEAD.
  virtual void respond(const Response& response) = 0;

 protected:
  ~Exchange() = default;
};

void respond_problem(Exchange& exchange, const ProblemDocument& problem,
                     std::string_view further_fields = {});
void respond_text(Exchange& exchange, unsigned status, std::string_view text);
// 405 that says what is allowed there, as "GET, HEAD".
void respond_not_allowed(Exchange& exchange, std::string_view allowed);

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;

  // Answers through `exchange`, now or later; until then the request stays valid and no other comes
  // from the same connection.
  virtual void serve(const http1::Request& request, Exchange& exchange) = 0;
};

}  // namespace sluice::server
