// A case against a Store, through Store::submit: what the daemon does, less the rules.
#include <map>
#include <vector>

#include "base/key_hash.h"
#include "sluice/algorithm/limit_generations.h"
#include "stores/memory_store.h"
#include "tests/conformance/subject.h"

namespace sluice::conformance {
namespace {

class StoreSubject final : public Subject, private CheckSink {
 public:
  explicit StoreSubject(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Result<void> set_limit(const Limit& limit) override {
    auto plan = generations_.make_plan(limit);
    if (!plan) return plan.error();
    plan_ = *plan;
    return {};
  }

  Decision take(const std::string& key, Cost cost, Instant now,
                const std::string& permit) override {
    const Charge charge = submit(Operation::take, key, cost, now, {});
    if (charge.charged && plan_.limit.algorithm == Algorithm::concurrency) {
      permits_[permit] = charge.permit;
    }
    return charge.decision;
  }
  Decision peek(const std::string& key, Cost cost, Instant now) override {
    return submit(Operation::peek, key, cost, now, {}).decision;
  }
  void refund(const std::string& key, Cost cost, Instant now) override {
    submit(Operation::refund, key, cost, now, {});
  }
  bool release(const std::string& key, const std::string& permit, Instant now) override {
    return submit(Operation::release, key, 1, now, permits_[permit]).charged;
  }
  bool renew(const std::string& key, const std::string& permit, Instant now) override {
    return submit(Operation::renew, key, 1, now, permits_[permit]).charged;
  }

 private:
  Charge submit(Operation operation, const std::string& key, Cost cost, Instant now,
                PermitId permit) {
    const std::string_view identity = key;
    Charge charge;
    charge.plan = &plan_;
    charge.key = {.rule = "conformance", .rule_hash = 1, .identity = {&identity, 1}};
    charge.hash = hash_key(charge.key);
    charge.cost = cost;
    charge.permit = permit;
    Check check;
    check.operation = operation;
    check.charges = {&charge, 1};
    check.now = now;
    check.sink = this;
    Check* checks[] = {&check};
    store_->submit(checks);
    return charge;
  }

  void complete(Check&) noexcept override {}  // Memory completes before submit() returns.

  std::unique_ptr<Store> store_;
  LimitGenerations generations_;
  LimitPlan plan_;
  std::map<std::string, PermitId> permits_;
};

}  // namespace

Result<std::unique_ptr<Subject>> make_memory_subject() {
  TableOptions options;
  options.keys_max = 1000;
  auto store = MemoryStore::open(options);
  if (!store) return store.error();
  return std::unique_ptr<Subject>(std::make_unique<StoreSubject>(std::move(*store)));
}

}  // namespace sluice::conformance
