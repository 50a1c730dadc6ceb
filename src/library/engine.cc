#include "sluice/engine.h"

#include <utility>

#include "base/key_hash.h"
#include "base/mutex.h"
#include "engine/engine_core.h"
#include "engine/request_bounds.h"
#include "sluice/system_clock.h"
#include "stores/memory_store.h"

namespace sluice {
namespace {

// Copies an answer out of the lane before it is gone.
class OwningSink final : public AnswerSink {
 public:
  void answer(const Answer& answer) noexcept override {
    owned_.verdict = answer.verdict;
    owned_.deciding = answer.deciding;
    owned_.descriptors.reserve(answer.descriptors.size());
    for (const DescriptorAnswer& each : answer.descriptors) {
      OwnedAnswer::PerDescriptor& own = owned_.descriptors.emplace_back();
      own.decision = each.decision;
      if (each.rule != nullptr) own.rule = each.rule->label;
      if (each.has_numbers()) own.limit = each.rule->limit;
    }
    owned_.permit = answer.permit;
    owned_.delay = answer.delay;
    if (answer.error != nullptr) owned_.error = *answer.error;
  }
  OwnedAnswer take() { return std::move(owned_); }

 private:
  OwnedAnswer owned_;
};

EngineOptions with_one_more_lane(EngineOptions options) {
  ++options.lanes;
  return options;
}

}  // namespace

struct Engine::Parts {
  Parts(const EngineOptions& options, std::unique_ptr<MemoryStore> memory_store)
      : store(std::move(memory_store)),
        core(with_one_more_lane(options), *store,
             options.clock != nullptr ? *options.clock : system_clock),
        shared_lane(options.lanes) {}

  // Calls visit(rule, compiled, key hash) for each limit that keeps a state for the descriptor.
  template <typename Visit>
  Result<void> visit_keys(std::string_view domain_name, std::span<const Entry> entries,
                          Visit visit) {
    const std::shared_ptr<const Snapshot> snapshot = core.rules().current();
    const RuleDomain* domain = snapshot->matcher().find_domain(domain_name);
    if (domain == nullptr) return Error{ErrorCode::not_found, "no such domain"};
    std::vector<std::string_view> identity(entries.size());
    const RuleMatch match = snapshot->matcher().match(*domain, entries, identity);
    if (match.limits.empty()) return Error{ErrorCode::not_found, "no limit for this descriptor"};
    for (const RuleLimit& rule : match.limits) {
      if (rule.unlimited) continue;
      const Snapshot::CompiledLimit& compiled = snapshot->compiled(rule);
      visit(rule, compiled.plan, hash_key({rule.id, rule.id_hash, identity}));
    }
    return {};
  }

  SystemClock system_clock;
  std::unique_ptr<MemoryStore> store;
  EngineCore core;
  const unsigned shared_lane;  // Of the callers that have none.
  Mutex shared_lane_mutex;
};

Result<std::unique_ptr<Engine>> Engine::open(const EngineOptions& options) {
  if (options.lanes == 0) return Error{ErrorCode::invalid_argument, "lanes: at least 1"};
  Result<std::unique_ptr<MemoryStore>> store = MemoryStore::open(options.table);
  if (!store) return store.error();
  return std::unique_ptr<Engine>{new Engine{std::make_unique<Parts>(options, std::move(*store))}};
}

Engine::Engine(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Engine::~Engine() = default;

Result<void> Engine::replace_rules(std::shared_ptr<const RuleSet> rules) {
  return parts_->core.replace_rules(std::move(rules));
}

std::shared_ptr<const RuleSet> Engine::rules() const {
  return parts_->core.rules().current()->rules();
}

void Engine::count_failed_reload() noexcept {
  parts_->core.count_failed_reload();
}

void Engine::check(unsigned lane, const Request& request, AnswerSink& sink) noexcept {
  parts_->core.check(lane, request, sink);
}

OwnedAnswer Engine::check(const Request& request) {
  OwningSink sink;
  const MutexLock lock(parts_->shared_lane_mutex);
  // Memory answers before check() returns.
  parts_->core.check(parts_->shared_lane, request, sink);
  return sink.take();
}

Result<std::vector<KeyView>> Engine::look_at_key(std::string_view domain,
                                                 std::span<const Entry> entries) {
  std::vector<KeyView> views;
  const Clock& clock = parts_->core.clock();
  const Instant now = clock.now();
  Result<void> visited = parts_->visit_keys(
      domain, entries, [&](const RuleLimit& rule, const LimitPlan& plan, KeyHash hash) {
        views.push_back({rule.label, rule.id, rule.limit,
                         parts_->store->look(plan, hash, now, clock.wall_offset())});
      });
  if (!visited) return visited.error();
  return views;
}

Result<std::size_t> Engine::reset_key(std::string_view domain, std::span<const Entry> entries) {
  std::size_t known = 0;
  const Instant now = parts_->core.clock().now();
  Result<void> visited = parts_->visit_keys(
      domain, entries, [&](const RuleLimit&, const LimitPlan& plan, KeyHash hash) {
        if (parts_->store->reset(plan, hash, now)) ++known;
      });
  if (!visited) return visited.error();
  return known;
}

Result<void> Engine::set_kill_switch(std::string_view domain, std::string_view rule, bool is_on) {
  return parts_->core.rules().set_kill_switch(domain, rule, is_on);
}

std::vector<Engine::KillSwitch> Engine::kill_switches() const {
  std::vector<KillSwitch> switches;
  for (auto& [domain, rule] : parts_->core.rules().kill_switches()) {
    switches.push_back({std::move(domain), std::move(rule)});
  }
  return switches;
}

EngineMetrics Engine::metrics() {
  EngineMetrics metrics = parts_->core.metrics();
  const MemoryStoreCounters table = parts_->store->counters(parts_->core.clock().now());
  metrics.table_keys = table.keys;
  metrics.table_evictions = table.evictions;
  return metrics;
}

}  // namespace sluice
