// Where a daemon's rules come from, and how they come again: files and folders at start and at each
// SIGHUP. A reload that fails changes nothing: the old rules keep serving, it is counted and told.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "config/rule_loader.h"
#include "sluice/engine.h"
#include "sluice/vocabulary/problem.h"

namespace sluice::server {

struct RuleReport {
  bool is_in_force = false;
  std::size_t limits = 0;
  std::vector<Problem> errors;
  std::vector<Problem> warnings;
};

class RuleSource {
 public:
  // Without paths the built-in example. `engine` outlives the source.
  RuleSource(Engine& engine, std::vector<std::string> paths, RuleLoadOptions options);
  ~RuleSource();  // Waits for a reload under way.

  // Reads the rules and puts them in force; the calling thread does the work.
  RuleReport load();

  // The same on a thread of its own, which tells `report`. Requests that come while one is under
  // way become one more. Any thread.
  void reload_in_background(std::function<void(const RuleReport&)> report);

  // Of the rules in force: equal texts, equal hash. Any thread.
  std::string hash() const;

 private:
  void run(const std::stop_token& stop);

  Engine& engine_;
  const std::vector<std::string> paths_;
  const RuleLoadOptions options_;
  mutable Mutex mutex_;
  std::condition_variable_any wakeup_;
  std::string hash_ SLUICE_GUARDED_BY(mutex_);
  // Empty: no reload is asked for.
  std::function<void(const RuleReport&)> wanted_ SLUICE_GUARDED_BY(mutex_);
  std::jthread thread_;  // Begins with the first reload.
};

// What is served when no rules are given.
extern const std::string_view kExampleRules;

}  // namespace sluice::server
