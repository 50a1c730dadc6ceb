#include "sluice/keyed_limiter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/key_hash.h"
#include "sluice/algorithm/token_bucket.h"
#include "stores/charge_step.h"
#include "stores/memory_store.h"

namespace sluice {
namespace {

constexpr std::size_t kBatchMax = MemoryTable::kBatchMax;

// The plans that try_acquire() decides on the table itself.
bool is_plain_bucket(const LimitPlan& plan) noexcept {
  return plan.limit.algorithm == Algorithm::token_bucket && !plan.limit.overdraft &&
         plan.limit.block_for == Duration{0};
}

Decision ask(MemoryStore& store, const Clock& clock, Operation operation, LimiterKey key,
             const LimitPlan& plan, Cost cost, Instant now) noexcept {
  Charge charge{.plan = &plan, .key = {}, .hash = key.hash(), .cost = cost};
  Check check{.operation = operation,
              .charges = {&charge, 1},
              .now = now,
              .wall_offset = clock.wall_offset()};
  store.decide(check);
  return charge.decision;
}

}  // namespace

LimiterKey::LimiterKey(std::string_view bytes) noexcept : hash_(process_key_seed().hash(bytes)) {}

KeyHash LimiterKey::hash_number(std::uint64_t number) noexcept {
  return process_key_seed().hash(number);
}

Result<std::unique_ptr<KeyedLimiter>> KeyedLimiter::open(const Limit& limit, const Clock& clock,
                                                         const TableOptions& options) {
  Result<std::unique_ptr<MemoryStore>> store = MemoryStore::open(options);
  if (!store) return store.error();
  std::unique_ptr<KeyedLimiter> limiter(new KeyedLimiter(std::move(*store), clock));
  if (Result<void> set = limiter->set_limit(limit); !set) return set.error();
  return limiter;
}

KeyedLimiter::KeyedLimiter(std::unique_ptr<MemoryStore> store, const Clock& clock) noexcept
    : clock_(clock), store_(std::move(store)) {}

KeyedLimiter::~KeyedLimiter() = default;

bool KeyedLimiter::try_acquire(LimiterKey key, Cost cost, Instant now,
                               const LimitPlan& plan) noexcept {
  if (!is_plain_bucket(plan)) [[unlikely]]
    return decide(key, cost, now, plan).verdict == Verdict::allowed;
  bool is_allowed = false;
  const bool had_room =
      store_->table().update(table_hash(key.hash(), plan.state_kind), now, [&](State& state) {
        is_allowed = token_bucket::try_take(state, plan, cost, now);
        return is_allowed && cost > 0;
      });
  return is_allowed && had_room;
}

void KeyedLimiter::try_acquire(std::span<const LimiterKey> keys, Cost cost, Instant now,
                               std::span<bool> is_allowed) noexcept {
  const LimitPlan& plan = this->plan();
  if (!is_plain_bucket(plan)) [[unlikely]] {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      is_allowed[i] = try_acquire(keys[i], cost, now, plan);
    }
    return;
  }
  std::array<KeyHash, kBatchMax> hashes;
  while (!keys.empty()) {
    const std::size_t count = std::min(keys.size(), kBatchMax);
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = table_hash(keys[i].hash(), plan.state_kind);
    }
    store_->table().update_each(
        {hashes.data(), count}, now,
        [&](std::size_t i, State& state) {
          is_allowed[i] = token_bucket::try_take(state, plan, cost, now);
          return is_allowed[i] && cost > 0;
        },
        [&](std::size_t i) { is_allowed[i] = false; });
    keys = keys.subspan(count);
    is_allowed = is_allowed.subspan(count);
  }
}

Decision KeyedLimiter::decide(LimiterKey key, Cost cost, Instant now,
                              const LimitPlan& plan) noexcept {
  return ask(*store_, clock_, Operation::take, key, plan, cost, now);
}

Decision KeyedLimiter::peek(LimiterKey key, Cost cost, Instant now,
                            const LimitPlan& plan) noexcept {
  return ask(*store_, clock_, Operation::peek, key, plan, cost, now);
}

void KeyedLimiter::refund(LimiterKey key, Cost cost, Instant now, const LimitPlan& plan) noexcept {
  ask(*store_, clock_, Operation::refund, key, plan, cost, now);
}

bool KeyedLimiter::reset(LimiterKey key, Instant now, const LimitPlan& plan) noexcept {
  return store_->reset(plan, key.hash(), now);
}

bool KeyedLimiter::reset(LimiterKey key) noexcept {
  return reset(key, clock_.now(), plan());
}

Result<void> KeyedLimiter::set_limit(const Limit& limit) {
  const Result<const LimitPlan*> plan = make_plan(limit);
  if (!plan) return plan.error();
  plan_.store(*plan, std::memory_order_release);
  return {};
}

Result<const LimitPlan*> KeyedLimiter::make_plan(const Limit& limit) {
  if (limit.algorithm == Algorithm::concurrency) {
    return Error{ErrorCode::unsupported, "concurrency is not a rate: use a concurrency limiter"};
  }
  Result<LimitPlan> made = generations_.make_plan(limit);
  if (!made) return made.error();
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(plans_.begin(), plans_.end(),
                                  [&](const auto& plan) { return plan->limit == limit; });
  if (known != plans_.end()) return known->get();
  if (plans_.size() == kGenerationsMax) {
    return Error{ErrorCode::overloaded, "too many different limits since the start"};
  }
  plans_.push_back(std::make_unique<const LimitPlan>(*made));
  return plans_.back().get();
}

KeyedLimiterCounters KeyedLimiter::counters() const noexcept {
  const MemoryStoreCounters counters = store_->counters(clock_.now());
  return {counters.keys, counters.evictions, counters.refusals};
}

}  // namespace sluice
