// The numbers that states in memory may have been written under. A bucket's state carries a
// 32-bit generation; when it is not the plan's own, the old numbers are found here and the state
// is converted. Append-only and bounded: a number once given means the same limit for ever, so
// lookups take no lock. Only buckets need one; every other plan gets generation 0.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "sluice/algorithm/limit_plan.h"
#include "sluice/vocabulary/error.h"

namespace sluice {

inline constexpr std::uint32_t kGenerationsMax = 65'536;

class LimitGenerations {
 public:
  LimitGenerations() = default;
  LimitGenerations(const LimitGenerations&) = delete;
  LimitGenerations& operator=(const LimitGenerations&) = delete;
  ~LimitGenerations() {
    for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
  }

  // The plan of a limit, which must not outlive this. Equal numbers get equal generations.
  // Errors: invalid_argument as validate_limit(); overloaded when kGenerationsMax different ones
  // have been seen. Any thread; takes a lock and may allocate.
  Result<LimitPlan> make_plan(const Limit& limit) {
    if (auto valid = validate_limit(limit); !valid) return valid.error();
    LimitPlan plan = sluice::make_plan(limit);
    if (plan.capacity == 0) return plan;  // No bucket, or one that refuses everything.
    plan.generations = this;

    const std::lock_guard lock(mutex_);
    const Numbers numbers{limit.algorithm, limit.requests, limit.period.count(), limit.burst};
    if (const auto known = known_.find(numbers); known != known_.end()) {
      plan.generation = known->second;
      return plan;
    }
    const auto index = static_cast<std::uint32_t>(known_.size());
    if (index == kGenerationsMax) {
      return Error{ErrorCode::overloaded, "too many different bucket limits since the start"};
    }
    auto& chunk = chunks_[index / kChunkPlans];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
      chunk.store(std::make_unique<Chunk>().release(), std::memory_order_release);
    }
    plan.generation = index + 1;
    (*chunk.load(std::memory_order_relaxed))[index % kChunkPlans] = plan;
    known_.emplace(numbers, plan.generation);
    return plan;
  }

  // The numbers of a generation that make_plan() gave; null for any other. Any thread, no lock:
  // whoever holds a generation got it, through the lock of its state, after it was written.
  const LimitPlan* find(std::uint32_t generation) const noexcept {
    if (generation == 0 || generation > kGenerationsMax) return nullptr;
    const Chunk* chunk = chunks_[(generation - 1) / kChunkPlans].load(std::memory_order_acquire);
    if (chunk == nullptr) return nullptr;
    const LimitPlan& plan = (*chunk)[(generation - 1) % kChunkPlans];
    return plan.generation == generation ? &plan : nullptr;
  }

 private:
  static constexpr std::uint32_t kChunkPlans = 256;
  using Chunk = std::array<LimitPlan, kChunkPlans>;
  using Numbers = std::tuple<Algorithm, std::uint32_t, std::int64_t, std::uint32_t>;

  std::mutex mutex_;
  std::map<Numbers, std::uint32_t> known_;  // Guarded by mutex_.
  std::array<std::atomic<Chunk*>, kGenerationsMax / kChunkPlans> chunks_{};
};

}  // namespace sluice
