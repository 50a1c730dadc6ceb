#include "stores/memory_store.h"

#include <utility>

#include "sluice/algorithm/block_for.h"
#include "sluice/algorithm/decide.h"
#include "stores/charge_step.h"

namespace sluice {
namespace {

// Keys at rest keep their slab memory until their place is needed, or until an endless walk around
// the table comes by: each decision that uses such memory looks through so many buckets, and more
// when there is none left.
constexpr std::uint32_t kSweepBuckets = 2;
constexpr std::uint32_t kSweepBucketsWhenFull = 24;

constexpr std::uint64_t kPermitStateKind =
    make_plan({.algorithm = Algorithm::concurrency, .requests = 1}).state_kind;

void leave_undecided(std::span<Charge> charges) noexcept {
  for (Charge& charge : charges) {
    charge.decision = {.verdict = Verdict::undecided};
    charge.charged = false;
  }
}

bool is_simple(const Charge& charge) noexcept {
  return charge.plan->limit.block_for == Duration{0} &&
         algorithm::memory_bytes_max(*charge.plan) == 0;
}

}  // namespace

Result<std::unique_ptr<MemoryStore>> MemoryStore::open(const TableOptions& options) {
  Result<std::unique_ptr<Slab>> slab = Slab::open(options.slab_bytes_max);
  if (!slab) return slab.error();
  Result<std::unique_ptr<MemoryTable>> table = MemoryTable::open(options, slab->get());
  if (!table) return table.error();
  return std::unique_ptr<MemoryStore>(new MemoryStore(std::move(*slab), std::move(*table)));
}

MemoryStore::MemoryStore(std::unique_ptr<Slab> slab, std::unique_ptr<MemoryTable> table) noexcept
    : slab_(std::move(slab)), table_(std::move(table)) {}

void MemoryStore::submit(std::span<Check*> checks) noexcept {
  const bool is_many = checks.size() > 1 || (!checks.empty() && checks[0]->charges.size() > 1);
  if (is_many) {
    for (const Check* check : checks) {
      for (const Charge& charge : check->charges) {
        if (charge.plan == nullptr) continue;
        table_->prefetch(table_hash(charge.hash, charge.plan->state_kind));
      }
    }
  }
  for (Check* check : checks) {
    decide(*check);
    check->sink->complete(*check);
  }
}

void MemoryStore::decide(Check& check) noexcept {
  bool is_decided = true;
  switch (check.operation) {
    case Operation::take:
    case Operation::peek:
      if (check.charges.size() > kChargesMax) {
        leave_undecided(check.charges);
        check.verdict = Verdict::undecided;
        check.error = ErrorCode::invalid_argument;
        return;
      }
      if (check.charge_each) {
        for (Charge& charge : check.charges) is_decided &= decide_step(check, {&charge, 1});
      } else if (!check.charges.empty()) {
        is_decided = decide_step(check, check.charges);
      }
      break;
    case Operation::refund:
      for (Charge& charge : check.charges) refund(check, charge);
      break;
    case Operation::release:
    case Operation::renew:
      for (Charge& charge : check.charges) change_permit(check, charge);
      break;
  }
  if (!is_decided) {
    check.verdict = Verdict::undecided;
    check.error = ErrorCode::overloaded;
  } else {
    check.verdict = passes(check.charges, check.quota_passes) ? Verdict::allowed : Verdict::denied;
  }
}

// Charges that pass or fail as one. False: there was no room; nothing was charged.
bool MemoryStore::decide_step(const Check& check, std::span<Charge> charges) noexcept {
  if (charges.size() == 1 && is_simple(charges[0])) return decide_single(check, charges[0]);

  ChargeStep step(check, charges);
  if (!step.has_memory()) {
    for (KeyAccess& key : step.keys()) key.slot = table_->read(key.hash);
    if (!step.decide(*slab_)) return true;
  } else {
    table_->sweep_slabs(kSweepBuckets, check.now);
  }
  for (int retries = MemoryTable::kRetriesMax;; --retries) {
    bool has_memory = true;
    {
      MemoryTable::Transaction transaction(*table_, step.keys(), check.now);
      if (!step.decide(*slab_)) return true;
      using Room = MemoryTable::Transaction::Room;
      const Room room = transaction.reserve(retries > 0);
      if (room == Room::none) break;
      if (room == Room::found) {
        has_memory = step.reserve_memory(*slab_);
        if (has_memory) {
          step.charge(*slab_);
          transaction.write();
          return true;
        }
        if (retries == 0) {
          slab_refusals_.fetch_add(1, std::memory_order_relaxed);
          break;
        }
      }
    }
    if (has_memory) {
      table_->make_room(step.keys(), check.now);
    } else {
      table_->sweep_slabs(kSweepBucketsWhenFull, check.now);
    }
  }
  step.leave_undecided();
  return false;
}

// The common check: one limit, one state, no lock unless it is charged.
bool MemoryStore::decide_single(const Check& check, Charge& charge) noexcept {
  const LimitPlan& plan = *charge.plan;
  const KeyHash hash = table_hash(charge.hash, plan.state_kind);
  const algorithm::Ask ask{.cost = charge.cost, .now = check.now, .wall_offset = check.wall_offset};
  charge.charged = false;
  if (check.operation == Operation::peek || charge.cost == 0) {
    charge.decision = algorithm::peek(table_->read(hash).state, {}, plan, ask);
    return true;
  }
  const bool had_room = table_->update(hash, check.now, [&](State& state) {
    const State before = state;
    charge.decision = algorithm::take(state, {}, plan, ask, charge.permit);
    charge.charged = charge.decision.verdict == Verdict::allowed || plan.limit.count_denied;
    // A refusal, too, writes a state that was converted to other numbers.
    return charge.charged || state.payload != before.payload || state.rest_at != before.rest_at;
  });
  if (!had_room) leave_undecided({&charge, 1});
  return had_room;
}

void MemoryStore::refund(const Check& check, Charge& charge) noexcept {
  const LimitPlan& plan = *charge.plan;
  const KeyHash hash = table_hash(charge.hash, plan.state_kind);
  algorithm::Ask ask{.cost = charge.cost, .now = check.now, .wall_offset = check.wall_offset};
  const auto give_back = [&](State& state, std::span<std::byte> memory) {
    const State before = state;
    algorithm::refund(state, memory, plan, ask);
    ask.cost = 0;
    charge.decision = algorithm::peek(state, memory, plan, ask);
    ask.cost = charge.cost;
    charge.decision.verdict = Verdict::allowed;
    charge.decision.retry_after = Duration{0};
    charge.charged = state.rest_at != before.rest_at || state.payload != before.payload;
    return charge.charged;
  };
  if (algorithm::memory_bytes_max(plan) > 0) {
    change_memory(hash, check.now, give_back);
  } else {
    table_->update(hash, check.now, [&](State& state) { return give_back(state, {}); });
  }
}

// release, renew. What is not held is not charged.
bool MemoryStore::change_permit(const Check& check, Charge& charge) noexcept {
  const KeyHash hash = table_hash(charge.hash, kPermitStateKind);
  const algorithm::Ask ask{.cost = 0, .now = check.now, .wall_offset = {}};
  charge.charged = false;
  charge.decision = {};
  change_memory(hash, check.now, [&](State& state, std::span<std::byte> memory) {
    const auto slots = algorithm::detail::as<concurrency::Slot>(memory);
    charge.charged = check.operation == Operation::release
                         ? concurrency::release(state, slots, charge.permit, check.now)
                         : concurrency::renew(state, slots, *charge.plan, charge.permit, check.now);
    if (charge.plan != nullptr) {
      charge.decision = algorithm::peek(state, memory, *charge.plan, ask);
    }
    return charge.charged;
  });
  if (check.operation == Operation::renew && !charge.charged) {
    charge.decision.verdict = Verdict::denied;
    charge.decision.retry_after = kNever;
  }
  return charge.charged;
}

// Runs change(state, memory) under the key's lock; what it leaves at rest gives its memory back.
template <typename Change>
bool MemoryStore::change_memory(KeyHash hash, Instant now, Change change) noexcept {
  KeyAccess key{.hash = hash};
  MemoryTable::Transaction transaction(*table_, {&key, 1}, now);
  if (!key.slot.owns_slab) key.slot = {};
  const auto handle = static_cast<Slab::Handle>(key.slot.state.payload);
  key.write = change(key.slot.state, slab_->block(handle)) && key.slot.owns_slab;
  if (!key.write) return false;
  if (key.slot.state.is_at_rest(now)) {
    slab_->free(handle);
    key.slot = {};
  }
  transaction.write();
  return true;
}

Decision MemoryStore::look(const LimitPlan& plan, KeyHash hash, Instant now,
                           Duration wall_offset) noexcept {
  Charge charge{.plan = &plan, .key = {}, .hash = hash, .cost = 1};
  Check check{.operation = Operation::peek,
              .charges = {&charge, 1},
              .now = now,
              .wall_offset = wall_offset};
  decide(check);
  return charge.decision;
}

bool MemoryStore::reset(const LimitPlan& plan, KeyHash hash, Instant now) noexcept {
  const bool was_blocked =
      table_->erase(table_hash(hash, plan.state_kind ^ block_for::kStateKind), now);
  return table_->erase(table_hash(hash, plan.state_kind), now) || was_blocked;
}

MemoryStoreCounters MemoryStore::counters(Instant now) const noexcept {
  return {.keys = table_->estimate_keys(now),
          .evictions = table_->evictions(),
          .refusals = table_->refusals() + slab_refusals_.load(std::memory_order_relaxed),
          .slab_bytes = slab_->bytes_used()};
}

}  // namespace sluice
