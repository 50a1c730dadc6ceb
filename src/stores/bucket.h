// One cache line of the memory table: three exact states, their tags, and the word that guards
// them.
//
// The word is a lock and a sequence number at once: odd while somebody writes, two further after
// each write. A writer takes it by compare-and-swap (acquire) and gives it back by a store
// (release). A reader notes an even number, reads, and looks again: the same number means that what
// it read was there all together. A reader that wants to write what it worked out swaps that very
// number for the odd one after it: success proves that nothing changed in between, so the common
// decision costs one load, one swap and three stores.
//
// Memory order. Words are written with release and read with acquire: a reader that sees one word
// of a writer also sees the writer's odd number when it looks again, and without fences, which
// ThreadSanitizer does not follow. On x86 both are plain moves.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>

#include <sched.h>

#include "base/backoff.h"
#include "sluice/vocabulary/state.h"

namespace sluice {

// What a slot holds: a state, and whether its payload is a Slab::Handle.
struct SlotState {
  State state;
  bool owns_slab = false;
};

class alignas(64) Bucket {
 public:
  static constexpr int kWays = 3;
  static constexpr int kAbsent = -1;

  // The number to compare with later. Odd: somebody writes, try again.
  std::uint32_t version() const noexcept { return load(word_); }
  static bool is_locked(std::uint32_t version) noexcept { return (version & 1) != 0; }

  bool try_lock(std::uint32_t version) noexcept {
    return std::atomic_ref{word_}.compare_exchange_strong(
        version, version + 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  void lock() noexcept {
    Backoff backoff;
    for (;;) {
      const std::uint32_t seen = version();
      if (!is_locked(seen) && try_lock(seen)) return;
      backoff.pause();
    }
  }
  // Requires the lock. `changed`: readers that began before must look again.
  void unlock(bool changed) noexcept {
    const std::uint32_t held = std::atomic_ref{word_}.load(std::memory_order_relaxed);
    store(word_, changed ? held + 1 : held - 1);
  }

  // Where a tag is, or kAbsent. A tag is never 0, which marks a place never used.
  int find(std::uint32_t tag) const noexcept {
    const unsigned matches = match(tag);
    return matches == 0 ? kAbsent : std::countr_zero(matches);
  }
  bool has(std::uint32_t tag) const noexcept { return match(tag) != 0; }

  std::uint32_t tag(int way) const noexcept { return load(tags_[way]); }
  Instant rest_at(int way) const noexcept {
    return {static_cast<std::int64_t>(load(states_[way].rest) & kInstantBits)};
  }
  bool is_free(int way, Instant now) const noexcept { return rest_at(way) <= now; }
  bool owns_slab(int way) const noexcept { return (load(states_[way].rest) & kSlabBit) != 0; }
  SlotState state(int way) const noexcept {
    const std::uint64_t rest = load(states_[way].rest);
    return {.state = {.rest_at = {static_cast<std::int64_t>(rest & kInstantBits)},
                      .payload = load(states_[way].payload)},
            .owns_slab = (rest & kSlabBit) != 0};
  }

  // The first way whose key is at rest, or kAbsent.
  int find_free(Instant now) const noexcept {
    for (int way = 0; way < kWays; ++way) {
      if (is_free(way, now)) return way;
    }
    return kAbsent;
  }

  // These require the lock.
  void set_state(int way, const SlotState& slot) noexcept {
    const auto rest = static_cast<std::uint64_t>(slot.state.rest_at.ns);
    store(states_[way].rest, slot.owns_slab ? rest | kSlabBit : rest);
    store(states_[way].payload, slot.state.payload);
  }
  void set(int way, std::uint32_t tag, const SlotState& slot) noexcept {
    store(tags_[way], tag);
    set_state(way, slot);
  }
  void clear(int way) noexcept { set(way, 0, {}); }

 private:
  // An instant is never negative, so its sign is free to say who owns slab memory.
  static constexpr std::uint64_t kSlabBit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kInstantBits = kSlabBit - 1;

  // A bit for each way whose tag it is.
  unsigned match(std::uint32_t tag) const noexcept {
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
    // All tags in one load: three compared one by one become branches, and mispredicted ones. Each
    // is as whole as by itself, and what is read by the result comes after it.
    const __m128i tags = _mm_load_si128(reinterpret_cast<const __m128i*>(tags_.data()));
    const __m128i equal = _mm_cmpeq_epi32(tags, _mm_set1_epi32(static_cast<int>(tag)));
    constexpr unsigned kWayBits = (1U << kWays) - 1;  // The fourth is the word.
    return static_cast<unsigned>(_mm_movemask_ps(_mm_castsi128_ps(equal))) & kWayBits;
#else
    return static_cast<unsigned>(load(tags_[0]) == tag) |
           static_cast<unsigned>(load(tags_[1]) == tag) << 1U |
           static_cast<unsigned>(load(tags_[2]) == tag) << 2U;
#endif
  }

  template <typename Word>
  static Word load(const Word& word) noexcept {
    // Reading through atomic_ref changes nothing; it has no form for const objects yet.
    return std::atomic_ref{const_cast<Word&>(word)}.load(std::memory_order_acquire);
  }
  template <typename Word>
  static void store(Word& word, Word value) noexcept {
    std::atomic_ref{word}.store(value, std::memory_order_release);
  }

  struct Words {
    std::uint64_t rest;
    std::uint64_t payload;
  };
  std::array<Words, kWays> states_;
  std::array<std::uint32_t, kWays> tags_;
  std::uint32_t word_;
};

static_assert(sizeof(Bucket) == 64);

}  // namespace sluice
