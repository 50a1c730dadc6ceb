// The engine: rules and the state they count, behind one call. A request of domain, descriptors and
// hits goes in, one answer for each descriptor and one for the whole comes out. The daemon uses it
// through this header, as any program does.
//
// Threads. A lane is what one thread needs for itself: its view of the rules, its counters, its
// pool of requests under way. check(lane, ...) is called by one thread at a time for each lane and
// takes no lock and, once warm, no memory. Everything else may be called by any thread at any time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/vocabulary/engine_metrics.h"
#include "sluice/vocabulary/engine_options.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/request.h"

namespace sluice {

class RuleSet;  // sluice/vocabulary/rule_set.h

// An Answer that owns what it says.
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
  // invalid_argument: an option out of range. overloaded: the system has no room for the table.
  static Result<std::unique_ptr<Engine>> open(const EngineOptions& options);
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
  explicit Engine(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace sluice
