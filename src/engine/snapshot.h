// The rules in force, made ready to decide: the matcher, and for each limit its plan and the series
// it counts in. Immutable but for the kill switches, which
// are flags that any thread may turn. Lanes share one snapshot and keep it while they need it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/lane_counters.h"
#include "engine/rule_matcher.h"
#include "engine/series_names.h"
#include "sluice/algorithm/limit_generations.h"
#include "sluice/algorithm/limit_plan.h"
#include "sluice/vocabulary/rule_set.h"

namespace sluice {

// What outlives every snapshot and only ever grows, up to a bound.
struct EngineRegistry {
  LimitGenerations generations;
  SeriesNames series{kSeriesMax};
  SeriesNames domains{kDomainSeriesMax};
};

class Snapshot {
 public:
  struct CompiledLimit {
    LimitPlan plan;
    std::uint32_t series = 0;
    mutable std::atomic<bool> is_killed{false};
  };
  struct CompiledDomain {
    std::uint32_t series = 0;
    std::uint32_t override_series = 0;
  };

  // overloaded: more different limits than a process may see in its life (limit_generations.h).
  static Result<std::shared_ptr<const Snapshot>> compile(std::shared_ptr<const RuleSet> rules,
                                                         EngineRegistry& registry);

  const std::shared_ptr<const RuleSet>& rules() const noexcept { return rules_; }
  const RuleMatcher& matcher() const noexcept { return matcher_; }
  const CompiledLimit& compiled(const RuleLimit& limit) const noexcept {
    return limits_[limit.index];
  }
  const CompiledDomain& compiled(const RuleDomain& domain) const noexcept {
    return domains_[domain.index];
  }

  // Turns the switch of every limit of this domain with this label. Whether there was one.
  bool set_kill_switch(std::string_view domain, std::string_view label, bool is_on) const noexcept;

 private:
  explicit Snapshot(std::shared_ptr<const RuleSet> rules);

  std::shared_ptr<const RuleSet> rules_;
  RuleMatcher matcher_;
  std::vector<CompiledLimit> limits_;    // By RuleLimit::index.
  std::vector<CompiledDomain> domains_;  // By RuleDomain::index.
};

}  // namespace sluice
