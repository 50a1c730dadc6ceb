// Which snapshot is in force, and the kill switches that outlive each one. Lanes look at the epoch,
// one relaxed-cost load a request, and come for the snapshot only when it has moved on. A snapshot
// that was replaced is freed here, by whoever replaces rules or reads metrics, never on a lane's
// thread: a million rules take milliseconds to give back.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "engine/snapshot.h"

namespace sluice {

class RulesInForce {
 public:
  RulesInForce();  // No rules.

  // On an error nothing changes. Any thread; the slow part is done without the lock.
  Result<void> replace(std::shared_ptr<const RuleSet> rules);

  // Moves on when current() would return another snapshot.
  std::uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  std::shared_ptr<const Snapshot> current() const;

  // not_found: no limit in force has this domain and label.
  Result<void> set_kill_switch(std::string_view domain, std::string_view label, bool is_on);
  std::vector<std::pair<std::string, std::string>> kill_switches() const;

  void free_retired();

  EngineRegistry& registry() noexcept { return registry_; }

 private:
  EngineRegistry registry_;
  std::atomic<std::uint64_t> epoch_{1};
  Mutex replacing_;  // One compilation at a time: the later call is the one that stays.
  mutable Mutex mutex_;
  std::shared_ptr<const Snapshot> current_ SLUICE_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<const Snapshot>> retired_ SLUICE_GUARDED_BY(mutex_);
  std::set<std::pair<std::string, std::string>> killed_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice
