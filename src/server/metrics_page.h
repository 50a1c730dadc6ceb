// /metrics: what the engine and the server have counted, in Prometheus' text format.
#pragma once

#include <cstdint>
#include <string>

#include "sluice/vocabulary/engine_metrics.h"

namespace sluice::server {

struct ServerMetrics {
  std::uint64_t connections = 0;          // Open now, on the data port.
  std::uint64_t connections_refused = 0;  // Closed at once: too many were open.
  std::uint64_t connection_timeouts = 0;  // Closed because the peer was slow or idle.
  std::string version;
  std::string config_hash;
};

std::string metrics_page(const EngineMetrics& engine, const ServerMetrics& server);

}  // namespace sluice::server
