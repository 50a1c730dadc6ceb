// The admin port: what the daemon is doing, and the few things that may be changed while it runs.
// The admin loop's thread only.
#pragma once

#include <functional>
#include <string>

#include "server/http/check_handler.h"
#include "server/http/exchange.h"
#include "server/metrics_page.h"
#include "sluice/engine.h"

namespace sluice::server {

class AdminHandler final : public HttpHandler {
 public:
  // All outlive the handler; `metrics` is asked at each scrape.
  AdminHandler(Engine& engine, const Readiness& readiness, std::function<ServerMetrics()> metrics);

  void serve(const http1::Request& request, Exchange& exchange) override;

 private:
  void show_metrics(Exchange& exchange);
  void show_rules(Exchange& exchange);
  void show_rlconfig(Exchange& exchange);
  void look_at_key(const http1::Request& request, Exchange& exchange);
  void reset_key(const http1::Request& request, Exchange& exchange);
  void show_kill_switches(Exchange& exchange);
  void set_kill_switch(const http1::Request& request, Exchange& exchange);

  Engine& engine_;
  const Readiness& readiness_;
  std::function<ServerMetrics()> metrics_;
};

}  // namespace sluice::server
