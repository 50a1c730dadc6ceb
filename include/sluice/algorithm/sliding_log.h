// Sliding window log: every admitted hit with its instant, each counted for exactly one period.
// Never more than the limit in any span of one period, and never fewer than fit.
//
// state.rest_at is the newest hit's instant + period; the payload is the caller's handle to the
// memory: a header and a ring of entries, oldest first. Hits at one instant share an entry. An
// entry holds the count through it since the log began, so that what has aged out, what is live
// and when enough of it will be gone are binary searches: no call touches more than some 40 cache
// lines, however long the log. A full ring merges into its newest entry, whose hits then count
// longer than they should, never shorter: give room for `requests` entries, or grow() in time.
// Pure: no clock, no lock, no allocation; memory needs no first value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "sluice/algorithm/limit_plan.h"
#include "sluice/vocabulary/state.h"

namespace sluice::sliding_log {

struct Entry {
  std::int64_t at_ns = 0;           // Of the header: first << 32 | size.
  std::uint64_t count_through = 0;  // Of the header: the count before the first entry.
};
static_assert(sizeof(Entry) == 16);

using Entries = std::span<Entry>;  // [0] is the header; at least 2.
using ConstEntries = std::span<const Entry>;

// How many entries, header included, a key of this plan can fill. Under overdraft any number of
// hits may be live; beyond the most that any log may have they join the newest.
constexpr std::size_t entries_of(const LimitPlan& plan) noexcept {
  const std::size_t live = plan.limit.overdraft ? kSlidingLogRequestsMax : plan.limit.requests;
  return std::max<std::size_t>(live, 1) + 1;
}

namespace detail {

// The live part of a log: a ring, read in order of age.
struct Log {
  std::size_t first = 0;
  std::size_t size = 0;
  std::uint64_t count_before = 0;

  std::size_t slot(std::size_t index, std::size_t entries) const noexcept {
    const std::size_t at = first + index;
    return 1 + (at < entries - 1 ? at : at - (entries - 1));
  }
  std::uint64_t total(ConstEntries entries) const noexcept {
    return size == 0 ? 0 : entries[slot(size - 1, entries.size())].count_through - count_before;
  }
};

// The first index in [0, log.size) whose entry is not `before`.
template <typename IsBefore>
std::size_t search(const Log& log, ConstEntries entries, IsBefore is_before) noexcept {
  std::size_t low = 0;
  for (std::size_t high = log.size; low < high;) {
    const std::size_t middle = low + (high - low) / 2;
    if (is_before(entries[log.slot(middle, entries.size())])) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The log without what has aged out by now.
inline Log read(const State& state, ConstEntries entries, const LimitPlan& plan,
                Instant now) noexcept {
  if (state.is_at_rest(now)) return {};
  const auto place = static_cast<std::uint64_t>(entries[0].at_ns);
  Log log{place >> 32, place & 0xffffffffU, entries[0].count_through};
  const std::int64_t gone_ns = saturating_sub(now.ns, plan.limit.period.count());
  const std::size_t gone =
      search(log, entries, [&](const Entry& entry) { return entry.at_ns <= gone_ns; });
  if (gone > 0) {
    log.count_before = entries[log.slot(gone - 1, entries.size())].count_through;
    log.first = log.slot(gone, entries.size()) - 1;
    log.size -= gone;
  }
  return log;
}

inline void write(Entries entries, const Log& log) noexcept {
  entries[0] = {static_cast<std::int64_t>((log.first << 32) | log.size), log.count_before};
}

// When `cost` fits: now, or when enough of the oldest hits have aged out. cost <= limit.requests.
inline Instant when_fits(const State& state, ConstEntries entries, const LimitPlan& plan, Cost cost,
                         Instant now) noexcept {
  const Log log = read(state, entries, plan, now);
  const std::uint64_t sum = log.total(entries) + cost;
  if (sum <= plan.limit.requests) return now;
  const std::uint64_t through = log.count_before + (sum - plan.limit.requests);
  const std::size_t last_to_go =
      search(log, entries, [&](const Entry& entry) { return entry.count_through < through; });
  return Instant{entries[log.slot(last_to_go, entries.size())].at_ns} + plan.limit.period;
}

}  // namespace detail

// How long until `cost` would pass: 0 now, kNever if it can never fit. Overdraft is not looked at.
inline Duration wait(const State& state, ConstEntries entries, const LimitPlan& plan, Cost cost,
                     Instant now) noexcept {
  if (cost == 0) return Duration{0};
  if (cost > plan.limit.requests) return kNever;
  return detail::when_fits(state, entries, plan, cost, now) - now;
}

// Whether a hit now has an entry of its own.
inline bool has_room(const State& state, ConstEntries entries, const LimitPlan& plan,
                     Instant now) noexcept {
  return detail::read(state, entries, plan, now).size < entries.size() - 1;
}

// Copies a log into a larger memory.
inline void grow(ConstEntries from, Entries to) noexcept {
  const auto place = static_cast<std::uint64_t>(from[0].at_ns);
  const detail::Log log{place >> 32, place & 0xffffffffU, from[0].count_through};
  for (std::size_t i = 0; i < log.size; ++i) to[1 + i] = from[log.slot(i, from.size())];
  detail::write(to, {0, log.size, log.count_before});
}

inline void charge(State& state, Entries entries, const LimitPlan& plan, Cost cost,
                   Instant now) noexcept {
  if (cost == 0) return;
  detail::Log log = detail::read(state, entries, plan, now);
  const std::uint64_t count_through = log.count_before + log.total(entries) + cost;
  const bool is_full = log.size == entries.size() - 1;
  if (log.size > 0) {
    Entry& newest = entries[log.slot(log.size - 1, entries.size())];
    if (newest.at_ns >= now.ns || is_full) {  // A now before the newest counts as it.
      newest = {std::max(newest.at_ns, now.ns), count_through};
      now.ns = newest.at_ns;
      detail::write(entries, log);
      state.rest_at = now + plan.limit.period;
      return;
    }
  }
  ++log.size;
  entries[log.slot(log.size - 1, entries.size())] = {now.ns, count_through};
  detail::write(entries, log);
  state.rest_at = now + plan.limit.period;
}

// What take() would answer, but for the charge. Under overdraft this is the question that take()
// no longer asks: whether the cost fits without new debt, or for cost 0 whether there is none.
inline Decision peek(const State& state, ConstEntries entries, const LimitPlan& plan, Cost cost,
                     Instant now) noexcept {
  const std::uint64_t sum = detail::read(state, entries, plan, now).total(entries);
  Decision decision;
  decision.limit = plan.limit.requests;
  decision.remaining = plan.limit.requests -
                       static_cast<std::uint32_t>(std::min<std::uint64_t>(sum, decision.limit));
  if (!state.is_at_rest(now)) decision.reset_after = state.rest_at - now;
  decision.retry_after = wait(state, entries, plan, cost, now);
  if (cost == 0 && plan.limit.overdraft && plan.limit.requests > 0) {
    decision.retry_after = detail::when_fits(state, entries, plan, 0, now) - now;
  }
  if (decision.retry_after > Duration{0}) decision.verdict = Verdict::denied;
  return decision;
}

// Decides and, when allowed, charges. Under overdraft every positive cost up to kCostMax is allowed
// and logged. At requests 0 none is.
inline Decision take(State& state, Entries entries, const LimitPlan& plan, Cost cost,
                     Instant now) noexcept {
  const Decision asked = peek(state, entries, plan, cost, now);
  if (asked.verdict != Verdict::allowed && !overdraws(plan, cost)) return asked;
  charge(state, entries, plan, cost, now);
  return charged_decision(asked, peek(state, entries, plan, 0, now), true);
}

// Drops the newest hits, as many as there are of `cost`.
inline void refund(State& state, Entries entries, const LimitPlan& plan, Cost cost,
                   Instant now) noexcept {
  if (cost == 0) return;
  detail::Log log = detail::read(state, entries, plan, now);
  const std::uint64_t total = log.total(entries);
  if (cost >= total) {
    state.rest_at = {};
    return;
  }
  const std::uint64_t through = log.count_before + total - cost;
  const std::size_t newest = detail::search(
      log, entries, [&](const Entry& entry) { return entry.count_through < through; });
  Entry& kept = entries[log.slot(newest, entries.size())];
  kept.count_through = through;
  log.size = newest + 1;
  detail::write(entries, log);
  state.rest_at = Instant{kept.at_ns} + plan.limit.period;
}

}  // namespace sluice::sliding_log
