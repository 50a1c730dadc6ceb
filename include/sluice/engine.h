// The engine: rules and the state they count, behind one call. A request of domain, descriptors and
// hits goes in, one answer for each descriptor and one for the whole comes out. The daemon uses it
// through this header, as any program does.
//
// Threads. A lane is what one thread needs for itself: its view of the rules, its counters, its
// pool of requests under way. check(lane, ...) is called by one thread at a time for each lane and
// takes no lock and, once warm, no memory. Everything else may be called by any thread at any time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/vocabulary/clock.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/request.h"
#include "sluice/vocabulary/rule.h"
#include "sluice/vocabulary/table_options.h"

namespace sluice {

class RuleSet;  // sluice/vocabulary/rule_set.h

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
  std::size_t detailed_series_max = 1000;  // Of `detailed_metric`; the rest count as `~other`.
  // Told the name of a domain that no rule file has, at most once a second; on a lane's thread.
  std::function<void(std::string_view domain)> on_unknown_domain;
};

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

// An Answer that owns what it says. `rule` stays valid as long as `rules` or the rules in force.
struct OwnedAnswer {
  Verdict verdict = Verdict::allowed;
  std::optional<std::size_t> deciding;
  struct PerDescriptor {
    std::string rule;            // The label of the limit that decides; empty when nothing matched.
    std::optional<Limit> limit;  // None: nothing matched, or unlimited.
    Decision decision;
  };
  std::vector<PerDescriptor> descriptors;
  std::string permit;
  Duration delay{0};
  std::optional<Error> error;
};

// One limit's state for one key, as a peek of a single hit sees it.
struct KeyView {
  std::string rule;  // RuleLimit::label
  std::string id;    // RuleLimit::id
  Limit limit;
  Decision decision;
};

class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The rules from now on. What is counted stays and is converted where a limit changed its
  // numbers (docs/semantics.md); on an error (overloaded: too many different limits over this
  // process's life) nothing changes. Requests under way end under the rules they began with.
  Result<void> replace_rules(std::shared_ptr<const RuleSet> rules);
  std::shared_ptr<const RuleSet> rules() const;
  // A reload that failed before it came here (unreadable, invalid): counted in reloads_failed.
  void count_failed_reload() noexcept;

  // Answers a request: take, peek, refund, release or renew. `sink` is called exactly once, on this
  // thread, with the memory store before this returns. The request and its bytes stay valid until
  // then. Requires lane < EngineOptions::lanes.
  void check(unsigned lane, const Request& request, AnswerSink& sink) noexcept;

  // The same for a program without lanes: any thread, one at a time.
  OwnedAnswer check(const Request& request);

  // One entry for each limit that the descriptor meets. not_found: the domain or the rule.
  Result<std::vector<KeyView>> look_at_key(std::string_view domain, std::span<const Entry> entries);
  // Forgets the state of these keys: as if never seen. Returns how many keys were known.
  Result<std::size_t> reset_key(std::string_view domain, std::span<const Entry> entries);

  // On: the rule (by RuleLimit::label) allows, and still counts and reports as shadow_denied what
  // it would have refused. Stays on over reloads. not_found: no such rule in force.
  Result<void> set_kill_switch(std::string_view domain, std::string_view rule, bool is_on);
  struct KillSwitch {
    std::string domain;
    std::string rule;
  };
  std::vector<KillSwitch> kill_switches() const;  // Those that are on.

  EngineMetrics metrics();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sluice
