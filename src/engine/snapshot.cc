#include "engine/snapshot.h"

namespace sluice {

Snapshot::Snapshot(std::shared_ptr<const RuleSet> rules)
    : rules_(std::move(rules)),
      matcher_(rules_),
      limits_(rules_->limits().size()),
      domains_(rules_->domains().size()) {}

Result<std::shared_ptr<const Snapshot>> Snapshot::compile(std::shared_ptr<const RuleSet> rules,
                                                          EngineRegistry& registry) {
  const std::shared_ptr<Snapshot> snapshot{new Snapshot{std::move(rules)}};
  for (const RuleLimit& rule : snapshot->rules_->limits()) {
    CompiledLimit& compiled = snapshot->limits_[rule.index];
    if (!rule.unlimited) {
      Result<LimitPlan> plan = registry.generations.make_plan(rule.limit);
      if (!plan) return plan.error();
      compiled.plan = *plan;
    }
    compiled.series = registry.series.number_of(rule.domain, rule.label);
  }
  for (const RuleDomain& domain : snapshot->rules_->domains()) {
    snapshot->domains_[domain.index] = {registry.domains.number_of(domain.name, ""),
                                        registry.series.number_of(domain.name, "~override")};
  }
  return std::shared_ptr<const Snapshot>{snapshot};
}

bool Snapshot::set_kill_switch(std::string_view domain, std::string_view label,
                               bool is_on) const noexcept {
  bool is_known = false;
  for (const RuleLimit& rule : rules_->limits()) {
    if (rule.domain != domain || rule.label != label) continue;
    limits_[rule.index].is_killed.store(is_on, std::memory_order_relaxed);
    is_known = true;
  }
  return is_known;
}

}  // namespace sluice
