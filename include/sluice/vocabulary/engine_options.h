// What an engine is told once, at start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "sluice/vocabulary/clock.h"
#include "sluice/vocabulary/table_options.h"

namespace sluice {

// What a request may bring. Beyond: answered as undecided with invalid_argument, and nothing is
// charged.
struct RequestBounds {
  std::size_t descriptors_max = 64;
  std::size_t entries_max = 32;  // Of one descriptor.
  std::size_t key_bytes_max = 256;
  std::size_t value_bytes_max = 4096;
  std::size_t domain_bytes_max = 256;
};

struct EngineOptions {
  unsigned lanes = 1;            // How many threads call check(lane, ...): at least 1.
  const Clock* clock = nullptr;  // Borrowed; null is the system's.
  TableOptions table;
  RequestBounds bounds;
  bool shadow_mode = false;  // Every answer is allowed; its descriptors still say denied.
  bool quota_mode = false;   // Every rule is a quota rule: one that passes lets the request pass.
  std::uint32_t pending_max = 65'536;      // Requests under way in one lane; beyond: overloaded.
  std::size_t detailed_series_max = 1000;  // Of `detailed_metric`; the rest count as `~other`.
  // Told the name of a domain that no rule file has, at most once a second; on a lane's thread.
  std::function<void(std::string_view domain)> on_unknown_domain;
};

}  // namespace sluice
