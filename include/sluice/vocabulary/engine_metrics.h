// What an engine has counted, summed over its lanes. Counts only ever grow; names and meanings are
// in docs/semantics.md, Metrics.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/vocabulary/time.h"

namespace sluice {

// What one limit did, by its verdict: sluice_decisions_total.
enum class DecisionKind : std::uint8_t { allowed, denied, undecided, shed, shadow_denied };
inline constexpr std::size_t kDecisionKinds = 5;
inline constexpr std::array<std::string_view, kDecisionKinds> kDecisionKindNames{
    "allowed", "denied", "undecided", "shed", "shadow_denied"};

inline constexpr std::array<std::string_view, 4> kVerdictNames{"allowed", "denied", "shed",
                                                               "undecided"};  // As in Verdict.

struct RuleMetrics {
  std::string domain;
  std::string rule;  // RuleLimit::label, or `~override`, `~other`.
  std::array<std::uint64_t, kDecisionKinds> decisions{};  // By DecisionKind.
  std::uint64_t hits = 0;                                 // Asked for by takes, charged or not.
  std::optional<std::uint32_t> limit;   // Of the rules in force; none: no longer in them.
  std::optional<std::uint32_t> tokens;  // Least remaining since the last metrics() call.
};

struct DomainMetrics {
  std::string domain;
  std::array<std::uint64_t, 4> requests{};  // By Verdict, requests that matched a rule.
  std::uint64_t unmatched = 0;              // Requests that matched none.
};

// Time from the request's `now` to its answer; one request in kLatencySampling is timed.
inline constexpr std::uint32_t kLatencySampling = 64;
struct LatencyMetrics {
  static constexpr std::size_t kBuckets = 24;  // Upper bound of bucket i: 2^(i + 7) ns; last: none.
  static constexpr Duration upper_bound(std::size_t bucket) noexcept {
    return Duration{std::int64_t{1} << (bucket + 7)};
  }
  std::array<std::uint64_t, kBuckets> counts{};  // Not cumulative.
  std::uint64_t sum_ns = 0;
};

struct EngineMetrics {
  std::vector<DomainMetrics> domains;
  std::uint64_t unmatched_unknown_domain = 0;  // All unknown domains together.
  std::vector<RuleMetrics> rules;
  LatencyMetrics latency;
  std::uint64_t table_keys = 0;  // Keys held, at rest or not.
  std::uint64_t table_evictions = 0;
  std::uint64_t reloads_ok = 0;
  std::uint64_t reloads_failed = 0;
};

}  // namespace sluice
