// The data port's paths: /v1/check and its siblings, /json, /healthz, /readyz. One for each loop,
// on the loop's own lane of the engine; requests under way come from a pool, so a request in steady
// state allocates nothing.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/byte_buffer.h"
#include "server/http/exchange.h"
#include "sluice/engine.h"
#include "sluice/vocabulary/request.h"

namespace sluice::server {

// Asked by /readyz, on any loop's thread: empty when ready, else why not.
using Readiness = std::function<std::string_view()>;

class CheckHandler final : public HttpHandler {
 public:
  // `engine` and `readiness` outlive the handler; `lane` is this loop's alone.
  CheckHandler(Engine& engine, unsigned lane, const Readiness& readiness);
  ~CheckHandler() override;

  void serve(const http1::Request& request, Exchange& exchange) override;

 private:
  class Checking;

  void check(const http1::Request& request, Operation operation, Exchange& exchange);
  void check_rls(const http1::Request& request, Exchange& exchange);
  Checking& begin(Exchange& exchange);
  void end(Checking& checking);

  Engine& engine_;
  unsigned lane_;
  const Readiness& readiness_;
  ByteBuffer fields_;
  ByteBuffer body_;
  std::vector<std::unique_ptr<Checking>> all_;
  std::vector<Checking*> idle_;
};

// GET and HEAD of /healthz and /readyz, for every port. False: some other path.
bool serve_health(const http1::Request& request, Exchange& exchange, const Readiness& readiness);

}  // namespace sluice::server
