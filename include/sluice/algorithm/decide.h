// One face for all algorithms, for callers that hold states of any rule: the algorithm is looked up
// in the plan. Beside the 16-byte state some algorithms need memory of the caller's: sub-windows,
// log, concurrency. It is passed as bytes aligned to 8, empty for the others; while the state is at
// rest it needs no first value, and all but take() do without it. Pure like the algorithms; the
// caller guards state and memory.
//
// Several limits of one request, under their locks: make_current() (cost 0: not) and decide() each;
// if all pass, take() each; else take() only those of count_denied. States without memory may be
// copied and taken from instead.
#pragma once

#include <cstddef>
#include <span>

#include "sluice/algorithm/concurrency.h"
#include "sluice/algorithm/fixed_window.h"
#include "sluice/algorithm/leaky_bucket.h"
#include "sluice/algorithm/sliding_log.h"
#include "sluice/algorithm/sliding_window.h"
#include "sluice/algorithm/sub_windows.h"
#include "sluice/algorithm/token_bucket.h"

namespace sluice::algorithm {

using Memory = std::span<std::byte>;
using ConstMemory = std::span<const std::byte>;

// What a decision is asked with.
struct Ask {
  Cost cost = 1;
  Instant now{};
  Duration wall_offset{0};
};

namespace detail {

template <typename T>
std::span<T> as(Memory memory) noexcept {
  return {reinterpret_cast<T*>(memory.data()), memory.size() / sizeof(T)};
}

template <typename T>
std::span<const T> as(ConstMemory memory) noexcept {
  return {reinterpret_cast<const T*>(memory.data()), memory.size() / sizeof(T)};
}

// Of sub-windows exactly those the plan has: memory may be rounded up.
inline sub_windows::Slices slices(Memory memory, const LimitPlan& plan) noexcept {
  const auto counts = as<std::uint32_t>(memory);
  return counts.first(std::min(counts.size(), sub_windows::slices_of(plan)));
}

inline sub_windows::ConstSlices slices(ConstMemory memory, const LimitPlan& plan) noexcept {
  const auto counts = as<std::uint32_t>(memory);
  return counts.first(std::min(counts.size(), sub_windows::slices_of(plan)));
}

inline constexpr std::size_t kFirstEntries = 1 + 8;  // A log's or a permit list's first memory.

}  // namespace detail

// Bytes that a key of this plan can fill: 0 for most, 16 or 48 a hit or permit for log and
// concurrency.
constexpr std::size_t memory_bytes_max(const LimitPlan& plan) noexcept {
  switch (plan.limit.algorithm) {
    case Algorithm::sliding_window:
      return plan.limit.sub_windows > 0 ? sub_windows::slices_of(plan) * sizeof(std::uint32_t) : 0;
    case Algorithm::sliding_log:
      return sliding_log::entries_of(plan) * sizeof(sliding_log::Entry);
    case Algorithm::concurrency:
      return concurrency::slots_of(plan) * sizeof(concurrency::Slot);
    case Algorithm::fixed_window:
    case Algorithm::token_bucket:
    case Algorithm::leaky_bucket:
      break;
  }
  return 0;
}

// Bytes that a key may begin with: all of the slices, a few entries of a log or permit list.
constexpr std::size_t memory_bytes_min(const LimitPlan& plan) noexcept {
  const std::size_t most = memory_bytes_max(plan);
  if (plan.limit.algorithm == Algorithm::sliding_log) {
    return std::min(most, detail::kFirstEntries * sizeof(sliding_log::Entry));
  }
  if (plan.limit.algorithm == Algorithm::concurrency) {
    return std::min(most, detail::kFirstEntries * sizeof(concurrency::Slot));
  }
  return most;
}

// Whether a take needs more memory than this to be exact: give more by move_memory() first. Never
// once it has memory_bytes_max(). Of what does not grow: whether it has none yet.
inline bool wants_memory(const State& state, ConstMemory memory, const LimitPlan& plan,
                         Instant now) noexcept {
  if (memory.size() >= memory_bytes_max(plan)) return false;
  switch (plan.limit.algorithm) {
    case Algorithm::sliding_log:
      return !sliding_log::has_room(state, detail::as<sliding_log::Entry>(memory), plan, now);
    case Algorithm::concurrency:
      return !concurrency::has_room(state, detail::as<concurrency::Slot>(memory), now);
    case Algorithm::fixed_window:
    case Algorithm::sliding_window:
    case Algorithm::token_bucket:
    case Algorithm::leaky_bucket:
      break;
  }
  return true;
}

// Copies what a key holds into a larger memory. Of what never grows: nothing.
inline void move_memory(const LimitPlan& plan, ConstMemory from, Memory to) noexcept {
  if (plan.limit.algorithm == Algorithm::sliding_log) {
    sliding_log::grow(detail::as<sliding_log::Entry>(from), detail::as<sliding_log::Entry>(to));
  } else if (plan.limit.algorithm == Algorithm::concurrency) {
    concurrency::grow(detail::as<concurrency::Slot>(from), detail::as<concurrency::Slot>(to));
  }
}

// Converts a state written under other numbers; see token_bucket.h. The others need nothing.
inline void make_current(State& state, const LimitPlan& plan, Instant now) noexcept {
  if (plan.generation != 0) token_bucket::make_current(state, plan, now);
}

// How the key stands and whether the cost would fit; writes nothing. Under overdraft: without debt.
inline Decision peek(const State& state, ConstMemory memory, const LimitPlan& plan,
                     const Ask& ask) noexcept {
  switch (plan.limit.algorithm) {
    case Algorithm::fixed_window:
      return fixed_window::peek(state, plan, ask.cost, ask.now);
    case Algorithm::sliding_window:
      if (plan.limit.sub_windows > 0) {
        return sub_windows::peek(state, detail::slices(memory, plan), plan, ask.cost, ask.now);
      }
      return sliding_window::peek(state, plan, ask.cost, ask.now);
    case Algorithm::sliding_log:
      return sliding_log::peek(state, detail::as<sliding_log::Entry>(memory), plan, ask.cost,
                               ask.now);
    case Algorithm::token_bucket:
      return token_bucket::peek(state, plan, ask.cost, ask.now);
    case Algorithm::leaky_bucket:
      return leaky_bucket::peek(state, plan, ask.cost, ask.now);
    case Algorithm::concurrency:
      break;
  }
  return concurrency::peek(state, detail::as<concurrency::Slot>(memory), plan, ask.cost, ask.now);
}

// What take() would decide; writes nothing. Its numbers are those before the charge.
inline Decision decide(const State& state, ConstMemory memory, const LimitPlan& plan,
                       const Ask& ask) noexcept {
  Decision decision = peek(state, memory, plan, ask);
  if (decision.verdict == Verdict::allowed || !overdraws(plan, ask.cost)) return decision;
  decision.verdict = Verdict::allowed;
  decision.retry_after = Duration{0};
  if (plan.limit.algorithm == Algorithm::leaky_bucket) {
    decision.delay = leaky_bucket::delay(state, plan, ask.now);
  }
  return decision;
}

// Decides and charges. `permit` is concurrency's alone: the unguessable id of what is acquired.
inline Decision take(State& state, Memory memory, const LimitPlan& plan, const Ask& ask,
                     PermitId permit) noexcept {
  switch (plan.limit.algorithm) {
    case Algorithm::fixed_window:
      return fixed_window::take(state, plan, ask.cost, ask.now, ask.wall_offset);
    case Algorithm::sliding_window:
      if (plan.limit.sub_windows > 0) {
        return sub_windows::take(state, detail::slices(memory, plan), plan, ask.cost, ask.now,
                                 ask.wall_offset);
      }
      return sliding_window::take(state, plan, ask.cost, ask.now, ask.wall_offset);
    case Algorithm::sliding_log:
      return sliding_log::take(state, detail::as<sliding_log::Entry>(memory), plan, ask.cost,
                               ask.now);
    case Algorithm::token_bucket:
      return token_bucket::take(state, plan, ask.cost, ask.now);
    case Algorithm::leaky_bucket:
      return leaky_bucket::take(state, plan, ask.cost, ask.now);
    case Algorithm::concurrency:
      break;
  }
  return concurrency::take(state, detail::as<concurrency::Slot>(memory), plan, ask.cost, ask.now,
                           permit);
}

// Gives cost back. Of concurrency: the permits that expire first.
inline void refund(State& state, Memory memory, const LimitPlan& plan, const Ask& ask) noexcept {
  switch (plan.limit.algorithm) {
    case Algorithm::fixed_window:
      return fixed_window::refund(state, ask.cost, ask.now);
    case Algorithm::sliding_window:
      if (plan.limit.sub_windows > 0) {
        return sub_windows::refund(state, detail::slices(memory, plan), plan, ask.cost, ask.now);
      }
      return sliding_window::refund(state, plan, ask.cost, ask.now);
    case Algorithm::sliding_log:
      return sliding_log::refund(state, detail::as<sliding_log::Entry>(memory), plan, ask.cost,
                                 ask.now);
    case Algorithm::token_bucket:
    case Algorithm::leaky_bucket:
      return token_bucket::refund(state, plan, ask.cost, ask.now);
    case Algorithm::concurrency:
      break;
  }
  concurrency::release_oldest(state, detail::as<concurrency::Slot>(memory), ask.cost, ask.now);
}

}  // namespace sluice::algorithm
