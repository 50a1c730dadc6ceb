// The engine without a place for state: it is given one. Rules in force, lanes that check against
// them, and their counters summed.
//
// Threads: check() by one thread at a time for each lane; the rest by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/lane.h"
#include "sluice/vocabulary/engine_metrics.h"

namespace sluice {

class EngineCore {
 public:
  // Store and clock outlive this. Requires options.lanes >= 1; options.clock is not looked at.
  EngineCore(const EngineOptions& options, Store& store, const Clock& clock);

  // Requires that `sink` and what `request` borrows stay valid until `sink` has been called, and
  // that the store has completed every check before this is destroyed.
  void check(unsigned lane, const Request& request, AnswerSink& sink) noexcept {
    lanes_[lane]->check(request, sink);
  }

  // Counts the reload, and does what RulesInForce::replace() does.
  Result<void> replace_rules(std::shared_ptr<const RuleSet> rules);
  void count_failed_reload() noexcept { reloads_failed_.fetch_add(1, std::memory_order_relaxed); }

  RulesInForce& rules() noexcept { return parts_.rules; }
  const RulesInForce& rules() const noexcept { return parts_.rules; }
  const Clock& clock() const noexcept { return parts_.clock; }

  // The sums over all lanes, without what only the store knows. Lowers of `tokens` start anew.
  EngineMetrics metrics();

 private:
  void sum_domains(EngineMetrics& metrics);
  void sum_rules(EngineMetrics& metrics);
  void sum_latency(LatencyMetrics& latency);

  EngineParts parts_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::atomic<std::uint64_t> reloads_ok_{0};
  std::atomic<std::uint64_t> reloads_failed_{0};
};

}  // namespace sluice
