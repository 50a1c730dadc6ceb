// One limit as a rule file states it: the limit, its names, and how its refusal counts. Immutable
// once in a snapshot; many descriptors (a million exact values of one key) share one RuleLimit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sluice/vocabulary/limit.h"

namespace sluice {

enum class Scope : std::uint8_t { local, shared, leased, async };
enum class StoreErrorPolicy : std::uint8_t { fail_closed, fail_open, local };

struct RuleLimit {
  std::string domain;
  std::string id;  // `<rule>` of docs/semantics.md: unique within a rule set, free of its numbers.
  std::string label;  // What metrics, headers and answers show: `name`, else the path of keys.
  std::string name;   // As written, perhaps empty.
  Limit limit;
  Scope scope = Scope::local;
  StoreErrorPolicy on_store_error = StoreErrorPolicy::fail_closed;
  double fallback_share = 1.0;
  std::vector<std::string> replaces;
  bool unlimited = false;
  bool shadow_mode = false;
  bool quota_mode = false;
  bool detailed_metric = false;
  std::uint32_t index = 0;  // Dense in its snapshot: where per-loop counters live.
  std::uint64_t id_hash =
      0;  // Of id alone: the first ingredient of a key in memory. Stable over reloads.

  friend bool operator==(const RuleLimit&, const RuleLimit&) = default;
};

}  // namespace sluice
