#include "engine/engine_core.h"

#include <algorithm>

namespace sluice {
namespace {

bool is_zero(std::uint64_t count) noexcept {
  return count == 0;
}

}  // namespace

EngineCore::EngineCore(const EngineOptions& options, Store& store, const Clock& clock)
    : parts_(options, store, clock) {
  lanes_.reserve(options.lanes);
  for (unsigned i = 0; i < options.lanes; ++i) lanes_.push_back(std::make_unique<Lane>(parts_));
}

Result<void> EngineCore::replace_rules(std::shared_ptr<const RuleSet> rules) {
  Result<void> replaced = parts_.rules.replace(std::move(rules));
  (replaced ? reloads_ok_ : reloads_failed_).fetch_add(1, std::memory_order_relaxed);
  return replaced;
}

EngineMetrics EngineCore::metrics() {
  parts_.rules.free_retired();
  EngineMetrics metrics;
  sum_domains(metrics);
  sum_rules(metrics);
  sum_latency(metrics.latency);
  metrics.reloads_ok = reloads_ok_.load(std::memory_order_relaxed);
  metrics.reloads_failed = reloads_failed_.load(std::memory_order_relaxed);
  return metrics;
}

void EngineCore::sum_domains(EngineMetrics& metrics) {
  const SeriesNames& names = parts_.rules.registry().domains;
  const std::size_t count = names.size();
  metrics.domains.resize(count);
  for (std::uint32_t number = 0; number < count; ++number) {
    metrics.domains[number].domain = names.name(number).domain;
    for (const auto& lane : lanes_) {
      const DomainCounters* cell = lane->counters().domains.find(number);
      if (cell == nullptr) continue;
      for (std::size_t i = 0; i < cell->requests.size(); ++i) {
        metrics.domains[number].requests[i] += cell->requests[i].value();
      }
      metrics.domains[number].unmatched += cell->unmatched.value();
    }
  }
  const DomainMetrics& other = metrics.domains[0];
  if (std::ranges::all_of(other.requests, is_zero) && other.unmatched == 0) {
    metrics.domains.erase(metrics.domains.begin());
  }
  for (const auto& lane : lanes_) {
    metrics.unmatched_unknown_domain += lane->counters().unmatched_unknown_domain.value();
  }
}

void EngineCore::sum_rules(EngineMetrics& metrics) {
  const SeriesNames& names = parts_.rules.registry().series;
  const std::size_t count = names.size();
  metrics.rules.resize(count);
  for (std::uint32_t number = 0; number < count; ++number) {
    RuleMetrics& rule = metrics.rules[number];
    SeriesName name = names.name(number);
    rule.domain = std::move(name.domain);
    rule.rule = std::move(name.label);
    std::uint32_t least = SeriesCounters::kNone;
    for (const auto& lane : lanes_) {
      SeriesCounters* cell = lane->counters().series.find(number);
      if (cell == nullptr) continue;
      for (std::size_t i = 0; i < kDecisionKinds; ++i) {
        rule.decisions[i] += cell->decisions[i].value();
      }
      rule.hits += cell->hits.value();
      least = std::min(least, cell->take_least());
    }
    if (least != SeriesCounters::kNone) rule.tokens = least;
  }
  const std::shared_ptr<const Snapshot> snapshot = parts_.rules.current();
  for (const RuleLimit& limit : snapshot->rules()->limits()) {
    const Snapshot::CompiledLimit& compiled = snapshot->compiled(limit);
    if (compiled.series != 0 && !limit.unlimited) {
      metrics.rules[compiled.series].limit = count_of(compiled.plan);
    }
  }
  if (std::ranges::all_of(metrics.rules[0].decisions, is_zero)) {
    metrics.rules.erase(metrics.rules.begin());
  }
}

void EngineCore::sum_latency(LatencyMetrics& latency) {
  for (const auto& lane : lanes_) {
    const LatencyCounters& counters = lane->counters().latency;
    for (std::size_t i = 0; i < latency.counts.size(); ++i) {
      latency.counts[i] += counters.counts[i].value();
    }
    latency.sum_ns += counters.sum_ns.value();
  }
}

}  // namespace sluice
