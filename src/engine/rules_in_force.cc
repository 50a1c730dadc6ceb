#include "engine/rules_in_force.h"

#include <iterator>

namespace sluice {

RulesInForce::RulesInForce() {
  current_ = *Snapshot::compile(std::make_shared<const RuleSet>(), registry_);
}

Result<void> RulesInForce::replace(std::shared_ptr<const RuleSet> rules) {
  const MutexLock one_at_a_time(replacing_);
  Result<std::shared_ptr<const Snapshot>> compiled = Snapshot::compile(std::move(rules), registry_);
  if (!compiled) return compiled.error();
  {
    const MutexLock lock(mutex_);
    for (const auto& [domain, label] : killed_) (*compiled)->set_kill_switch(domain, label, true);
    retired_.push_back(std::exchange(current_, std::move(*compiled)));
    epoch_.fetch_add(1, std::memory_order_release);
  }
  free_retired();
  return {};
}

std::shared_ptr<const Snapshot> RulesInForce::current() const {
  const MutexLock lock(mutex_);
  return current_;
}

Result<void> RulesInForce::set_kill_switch(std::string_view domain, std::string_view label,
                                           bool is_on) {
  const MutexLock lock(mutex_);
  const std::pair<std::string, std::string> rule{domain, label};
  const bool was_on = killed_.contains(rule);
  const bool is_known = current_->set_kill_switch(domain, label, is_on);
  // A switch left on for a rule that went away can still be turned off.
  if (!is_known && !(was_on && !is_on)) {
    return Error{ErrorCode::not_found, "no such rule in force"};
  }
  if (is_on) {
    killed_.insert(rule);
  } else {
    killed_.erase(rule);
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> RulesInForce::kill_switches() const {
  const MutexLock lock(mutex_);
  return {killed_.begin(), killed_.end()};
}

void RulesInForce::free_retired() {
  std::vector<std::shared_ptr<const Snapshot>> unused;
  const MutexLock lock(mutex_);
  // A retired snapshot is handed out no more: a count of one can only stay one.
  for (auto it = retired_.begin(); it != retired_.end();) {
    if (it->use_count() == 1) {
      unused.push_back(std::move(*it));
      it = retired_.erase(it);
    } else {
      ++it;
    }
  }
}

}  // namespace sluice
