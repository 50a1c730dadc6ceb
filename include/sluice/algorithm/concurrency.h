// Concurrency: at most `requests` permits held at once, each taken back at its expiry unless it is
// renewed, so that a holder that dies costs at most permit_ttl. One acquire takes its whole cost
// under one id.
//
// state.rest_at is the last expiry; the payload is the caller's handle to the memory: an array of
// slots, in which holdings form a list in order of expiry (slot 0 is its head) and chains by id, so
// that release and renew search nothing. Expired holdings are passed over by readers and unlinked
// by writers. Pure: no clock, no lock, no allocation; memory needs no first value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "sluice/algorithm/limit_plan.h"
#include "sluice/vocabulary/state.h"
#include "sluice/vocabulary/store.h"

namespace sluice::concurrency {

struct Slot {
  PermitId id;                 // Of slot 0: low = first free slot or 0, high = slots ever used.
  Instant expires_at;          // Of slot 0: unused.
  std::uint32_t count = 0;     // Permits; 0 when free; of slot 0 all that are linked.
  std::uint32_t previous = 0;  // By expiry; of slot 0 the last.
  std::uint32_t next = 0;      // By expiry; of slot 0 the first. Of a free slot the next free.
  std::uint32_t chain = 0;     // The next holding whose id falls on the same slot.
  std::uint32_t head = 0;      // The first holding whose id falls on this slot: see first_of().
  std::uint32_t unused = 0;
};
static_assert(sizeof(Slot) == 48);

using Slots = std::span<Slot>;  // At least 2.
using ConstSlots = std::span<const Slot>;

// How many slots, the head included, a key of this plan can fill.
constexpr std::size_t slots_of(const LimitPlan& plan) noexcept {
  return std::max<std::size_t>(plan.limit.requests, 1) + 1;
}

// Permits held.
inline std::uint32_t in_use(const State& state, ConstSlots slots, Instant now) noexcept {
  if (state.is_at_rest(now)) return 0;
  std::uint32_t held = slots[0].count;
  for (std::uint32_t at = slots[0].next; at != 0 && slots[at].expires_at <= now;) {
    held -= slots[at].count;
    at = slots[at].next;
  }
  return held;
}

// How long until `cost` passes if nobody releases: 0 now, kNever if it can never fit.
inline Duration wait(const State& state, ConstSlots slots, const LimitPlan& plan, Cost cost,
                     Instant now) noexcept {
  if (cost == 0) return Duration{0};
  if (cost > plan.limit.requests) return kNever;
  std::uint64_t sum = in_use(state, slots, now) + cost;
  if (sum <= plan.limit.requests) return Duration{0};
  Instant freed_at = now;
  for (std::uint32_t at = slots[0].next; sum > plan.limit.requests; at = slots[at].next) {
    if (slots[at].expires_at <= now) continue;
    sum -= slots[at].count;
    freed_at = slots[at].expires_at;
  }
  return freed_at - now;
}

inline Decision peek(const State& state, ConstSlots slots, const LimitPlan& plan, Cost cost,
                     Instant now) noexcept {
  const std::uint32_t held = in_use(state, slots, now);
  Decision decision;
  decision.limit = plan.limit.requests;
  decision.remaining = plan.limit.requests - std::min(held, plan.limit.requests);
  if (!state.is_at_rest(now)) decision.reset_after = state.rest_at - now;
  decision.retry_after = wait(state, slots, plan, cost, now);
  if (decision.retry_after > Duration{0}) decision.verdict = Verdict::denied;
  return decision;
}

namespace detail {

// Puts a slot where its expiry belongs: at the end, unless permit_ttl was lowered meanwhile.
inline void link(Slots slots, std::uint32_t at) noexcept {
  std::uint32_t after = slots[0].previous;
  while (after != 0 && slots[after].expires_at > slots[at].expires_at) {
    after = slots[after].previous;
  }
  const std::uint32_t before = slots[after].next;
  slots[at].previous = after;
  slots[at].next = before;
  slots[after].next = at;
  slots[before].previous = at;
  slots[0].count += slots[at].count;
}

inline void unlink(Slots slots, std::uint32_t at) noexcept {
  slots[slots[at].previous].next = slots[at].next;
  slots[slots[at].next].previous = slots[at].previous;
  slots[0].count -= slots[at].count;
}

inline std::size_t slot_of(PermitId id, std::size_t slots) noexcept {
  return 1 + id.low % (slots - 1);
}

// The first holding whose id falls on slot `at`. Slots are used without being cleared, so `head`
// may be a leftover; it is none when it names a holding that falls on `at`, because whatever put
// that holding there set `head`.
inline std::uint32_t first_of(ConstSlots slots, std::size_t at) noexcept {
  const std::uint32_t head = slots[at].head;
  const bool is_used = head > 0 && head <= slots[0].id.high && slots[head].count > 0;
  return is_used && slot_of(slots[head].id, slots.size()) == at ? head : 0;
}

inline void chain(Slots slots, std::uint32_t at) noexcept {
  const std::size_t home = slot_of(slots[at].id, slots.size());
  slots[at].chain = first_of(slots, home);
  slots[home].head = at;
}

inline void discard(Slots slots, std::uint32_t at) noexcept {
  unlink(slots, at);
  const std::size_t home = slot_of(slots[at].id, slots.size());
  std::uint32_t* link_to_it = &slots[home].head;
  while (*link_to_it != at) link_to_it = &slots[*link_to_it].chain;
  *link_to_it = slots[at].chain;
  slots[at].count = 0;
  slots[at].next = static_cast<std::uint32_t>(slots[0].id.low);
  slots[0].id.low = at;
}

inline void discard_expired(State& state, Slots slots, Instant now) noexcept {
  if (state.is_at_rest(now)) {
    slots[0] = {};
    return;
  }
  // Ends at the latest at the last holding, whose expiry is rest_at.
  while (slots[slots[0].next].expires_at <= now) discard(slots, slots[0].next);
}

// A slot that nobody holds; 0 when there is none.
inline std::uint32_t take_free(Slots slots) noexcept {
  const auto free = static_cast<std::uint32_t>(slots[0].id.low);
  if (free != 0) {
    slots[0].id.low = slots[free].next;
    return free;
  }
  if (slots[0].id.high + 1 >= slots.size()) return 0;
  return static_cast<std::uint32_t>(++slots[0].id.high);
}

inline void set_rest(State& state, ConstSlots slots) noexcept {
  state.rest_at = slots[0].count == 0 ? Instant{} : slots[slots[0].previous].expires_at;
}

// The slot of a permit that is held; 0 when it is not.
inline std::uint32_t find(const State& state, ConstSlots slots, PermitId id, Instant now) noexcept {
  if (state.is_at_rest(now)) return 0;
  std::uint32_t at = first_of(slots, slot_of(id, slots.size()));
  while (at != 0 && slots[at].id != id) at = slots[at].chain;
  return at != 0 && slots[at].expires_at > now ? at : 0;
}

// Moves a holding's expiry to permit_ttl from now, never back.
inline void extend(Slots slots, const LimitPlan& plan, std::uint32_t at, Instant now) noexcept {
  unlink(slots, at);
  slots[at].expires_at = std::max(slots[at].expires_at, now + plan.limit.permit_ttl);
  link(slots, at);
}

}  // namespace detail

// Whether one more acquire finds a slot.
inline bool has_room(const State& state, ConstSlots slots, Instant now) noexcept {
  return state.is_at_rest(now) || slots[0].id.low != 0 || slots[0].id.high + 1 < slots.size() ||
         slots[slots[0].next].expires_at <= now;
}

// Copies the holdings into a larger memory.
inline void grow(ConstSlots from, Slots to) noexcept {
  std::copy(from.begin(), from.end(), to.begin());
  for (std::uint32_t at = to[0].next; at != 0; at = to[at].next) {
    to[detail::slot_of(to[at].id, to.size())].head = 0;
  }
  for (std::uint32_t at = to[0].next; at != 0; at = to[at].next) detail::chain(to, at);
}

// Acquires `cost` permits if they are free, under `id`: unguessable, from the caller. Under an id
// that is held already they join it. Undecided when no slot is free, although permits are: grow().
inline Decision take(State& state, Slots slots, const LimitPlan& plan, Cost cost, Instant now,
                     PermitId id) noexcept {
  Decision decision = peek(state, slots, plan, cost, now);
  if (decision.verdict != Verdict::allowed || cost == 0) return decision;
  detail::discard_expired(state, slots, now);
  const auto permits = static_cast<std::uint32_t>(cost);
  if (const std::uint32_t held = detail::find(state, slots, id, now); held != 0) {
    slots[held].count += permits;
    slots[0].count += permits;
    detail::extend(slots, plan, held, now);
  } else {
    const std::uint32_t at = detail::take_free(slots);
    if (at == 0) {
      decision.verdict = Verdict::undecided;
      return decision;
    }
    slots[at].id = id;
    slots[at].expires_at = now + plan.limit.permit_ttl;
    slots[at].count = 0;  // Not itself a holding that first_of() may find.
    detail::chain(slots, at);
    slots[at].count = permits;
    detail::link(slots, at);
  }
  detail::set_rest(state, slots);
  decision.remaining -= permits;
  decision.reset_after = state.rest_at - now;
  return decision;
}

// Gives a permit back, whole. False, and nothing happens, when it is not held: released before,
// expired, or never given.
inline bool release(State& state, Slots slots, PermitId id, Instant now) noexcept {
  const std::uint32_t at = detail::find(state, slots, id, now);
  if (at == 0) return false;
  detail::discard(slots, at);
  detail::set_rest(state, slots);
  return true;
}

// Gives back the `count` permits that expire first, or as many as are held.
inline void release_oldest(State& state, Slots slots, Cost count, Instant now) noexcept {
  if (count == 0) return;
  if (state.is_at_rest(now)) {
    state.rest_at = {};
    return;
  }
  detail::discard_expired(state, slots, now);
  while (count > 0 && slots[0].count > 0) {
    Slot& oldest = slots[slots[0].next];
    const auto given = static_cast<std::uint32_t>(std::min<Cost>(count, oldest.count));
    count -= given;
    if (given == oldest.count) {
      detail::discard(slots, slots[0].next);
    } else {
      oldest.count -= given;
      slots[0].count -= given;
    }
  }
  detail::set_rest(state, slots);
}

// Lets a permit run for another permit_ttl from now; never shortens it. False when it is not held.
inline bool renew(State& state, Slots slots, const LimitPlan& plan, PermitId id,
                  Instant now) noexcept {
  const std::uint32_t at = detail::find(state, slots, id, now);
  if (at == 0) return false;
  detail::extend(slots, plan, at, now);
  detail::set_rest(state, slots);
  return true;
}

}  // namespace sluice::concurrency
