#include "tests/conformance/subject.h"

#include <cstdint>
#include <map>
#include <vector>

#include "sluice/algorithm/block_for.h"
#include "sluice/algorithm/decide.h"
#include "tests/conformance/oracle.h"

namespace sluice::conformance {
namespace {

class OracleSubject final : public Subject {
 public:
  Result<void> set_limit(const Limit& limit) override {
    oracle_.change_limit(limit);
    return {};
  }
  Decision take(const std::string& key, Cost cost, Instant now,
                const std::string& permit) override {
    return oracle_.take(key, cost, now, permit);
  }
  Decision peek(const std::string& key, Cost cost, Instant now) override {
    return oracle_.peek(key, cost, now);
  }
  void refund(const std::string& key, Cost cost, Instant now) override {
    oracle_.refund(key, cost, now);
  }
  bool release(const std::string& key, const std::string& permit, Instant now) override {
    return oracle_.release(key, permit, now);
  }
  bool renew(const std::string& key, const std::string& permit, Instant now) override {
    return oracle_.renew(key, permit, now);
  }

 private:
  Oracle oracle_{Limit{}};
};

class HeaderSubject final : public Subject {
 public:
  Result<void> set_limit(const Limit& limit) override {
    auto plan = generations_.make_plan(limit);
    if (!plan) return plan.error();
    if (plan->state_kind != plan_.state_kind) keys_.clear();
    plan_ = *plan;
    return {};
  }

  Decision take(const std::string& key, Cost cost, Instant now,
                const std::string& permit) override {
    Held& held = find(key, now);
    if (cost == 0 || block_for::is_blocked(held.block, now)) return peek(key, cost, now);
    const Decision decision =
        algorithm::take(held.state, held.bytes(), plan_, {cost, now}, id_of(permit));
    block_for::begin(held.block, plan_, decision, now);
    return block_for::is_blocked(held.block, now)
               ? block_for::blocked_decision(held.block, decision, cost, now)
               : decision;
  }

  Decision peek(const std::string& key, Cost cost, Instant now) override {
    Held& held = find(key, now);
    const Decision own = algorithm::peek(held.state, held.bytes(), plan_, {cost, now});
    return block_for::is_blocked(held.block, now)
               ? block_for::blocked_decision(held.block, own, cost, now)
               : own;
  }

  void refund(const std::string& key, Cost cost, Instant now) override {
    Held& held = find(key, now);
    algorithm::refund(held.state, held.bytes(), plan_, {cost, now});
  }

  bool release(const std::string& key, const std::string& permit, Instant now) override {
    Held& held = find(key, now);
    return concurrency::release(held.state, held.slots(), id_of(permit), now);
  }

  bool renew(const std::string& key, const std::string& permit, Instant now) override {
    Held& held = find(key, now);
    return concurrency::renew(held.state, held.slots(), plan_, id_of(permit), now);
  }

 private:
  struct Held {
    State state;
    State block;
    std::vector<std::byte> memory;

    algorithm::Memory bytes() { return memory; }
    concurrency::Slots slots() {
      return {reinterpret_cast<concurrency::Slot*>(memory.data()),
              memory.size() / sizeof(concurrency::Slot)};
    }
  };

  // With memory that begins small and grows as a slab's would. It holds rubbish at first: the
  // algorithms promise not to mind.
  Held& find(const std::string& key, Instant now) {
    Held& held = keys_[key];
    if (held.memory.empty()) held.memory = rubbish(algorithm::memory_bytes_min(plan_));
    while (algorithm::wants_memory(held.state, held.bytes(), plan_, now)) {
      auto larger = rubbish(std::min(algorithm::memory_bytes_max(plan_), 2 * held.memory.size()));
      algorithm::move_memory(plan_, held.bytes(), larger);
      held.memory = std::move(larger);
    }
    return held;
  }

  static std::vector<std::byte> rubbish(std::size_t bytes) {
    std::vector<std::byte> memory(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      memory[i] = static_cast<std::byte>(i % 4 == 0 ? 1 + i % 3 : 0);
    return memory;
  }

  // Ids that collide in their slots, now and then.
  PermitId id_of(const std::string& permit) {
    const std::uint64_t next = ids_.size() + 1;
    const std::uint64_t number = permit.empty() ? ++unnamed_ : 0;
    return ids_
        .try_emplace(permit.empty() ? "#" + std::to_string(number) : permit,
                     PermitId{next, next * 7})
        .first->second;
  }

  LimitGenerations generations_;
  LimitPlan plan_;
  std::map<std::string, Held> keys_;
  std::map<std::string, PermitId> ids_;
  std::uint64_t unnamed_ = 0;
};

}  // namespace

std::unique_ptr<Subject> make_oracle_subject() {
  return std::make_unique<OracleSubject>();
}

std::unique_ptr<Subject> make_header_subject() {
  return std::make_unique<HeaderSubject>();
}

Result<std::unique_ptr<Subject>> make_subject(std::string_view store) {
  if (store == "oracle") return make_oracle_subject();
  if (store == "headers") return make_header_subject();
  if (store == "memory" || store == "memory://") return make_memory_subject();
  return Error{ErrorCode::unsupported,
               "store `" + std::string(store) +
                   "`: no such store here; there are memory, headers and oracle"};
}

}  // namespace sluice::conformance
