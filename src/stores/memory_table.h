// The concurrent table of key states: bounded, without allocation, timers or lists.
//
// Simpler tables fail. One with a list of ages lets a flood of new keys push out the very key that
// is over its limit. One that clears old keys by timer holds memory for what no longer matters. One
// that probes along slots touches many lines when it is full. Here a state says itself when it is
// worthless: from `rest_at` on its key equals one never seen, so its place is free, and nobody has
// to be told.
//
// A key may live in two buckets of three places each (cuckoo hashing by partial keys: the second
// bucket follows from the first and the 32-bit tag). A new key that finds both full of live keys
// moves one of them to that key's other bucket, over a path found by a bounded search; only when
// there is none does the policy decide. At two keys a bucket, 32 bytes a key, that is next to
// never.
//
// A key is in one of its buckets at most once: whoever adds or moves one holds both locks. Any
// thread may call anything; locks are held for some tens of nanoseconds, never over a call out but
// `decide`, which must be pure: it may be run again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/zero_pages.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/key.h"
#include "sluice/vocabulary/state.h"
#include "sluice/vocabulary/table_options.h"
#include "stores/bucket.h"
#include "stores/slab.h"

namespace sluice {

// One of several keys that are looked at and changed as one.
struct KeyAccess {
  KeyHash hash;
  SlotState slot{};    // In: as kept; a key never seen is all zero. Out: what to keep.
  bool write = false;  // Whether to keep it.

  // The table's own: where the key is, or will be.
  Bucket* bucket = nullptr;
  int way = Bucket::kAbsent;
};

class MemoryTable {
 public:
  // No call looks at more buckets, each one cache line; for several keys, per key.
  static constexpr int kLinesMax = 64;
  static constexpr std::size_t kAccessesMax = 512;
  static constexpr std::size_t kBatchMax = 32;  // More lines under way than this gain nothing.
  // Others may take the room that was just made; more often than this is no accident.
  static constexpr int kRetriesMax = 2;

  // `slab` gets back what a key owns when the key loses its place; null where none owns any;
  // borrowed. invalid_argument: keys_max out of range. overloaded: no such room.
  static Result<std::unique_ptr<MemoryTable>> open(const TableOptions& options, Slab* slab);

  // Runs decide(State&) on a copy of the key's state (all zero when there is none) and, when it
  // says true, keeps the copy. No lock is held meanwhile, and nothing is stored when it says false.
  // False: there was no room for a new key under WhenFull::refuse. Not for keys that own slabs.
  template <typename Decide>
  bool update(KeyHash hash, Instant now, Decide&& decide);

  // The same for up to kBatchMax keys, in order: decide(index, State&). Each waits for memory only
  // a fraction of the time that it would alone. What had no room calls refused(index).
  template <typename Decide, typename Refused>
  void update_each(std::span<const KeyHash> hashes, Instant now, Decide&& decide,
                   Refused&& refused);

  // A copy of the key's state, all zero when there is none.
  SlotState read(KeyHash hash) const noexcept;

  // Frees the key's place. Whether it was there and not at rest.
  bool erase(KeyHash hash, Instant now) noexcept;

  // Fetches the lines of a key that will be used soon.
  void prefetch(KeyHash hash) const noexcept;

  // Several different keys under all their locks at once, taken in address order. Usage: make one,
  // look at `slot` of each access, set `slot` and `write`, reserve(), write(). Destruction unlocks.
  class Transaction {
   public:
    enum class Room : std::uint8_t { found, retry, none };

    // Requires 1 to kAccessesMax accesses of different keys.
    Transaction(MemoryTable& table, std::span<KeyAccess> accesses, Instant now) noexcept;
    ~Transaction();
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;

    // Finds a place for each access to be written. retry: room may be made by moving keys; destroy
    // this, call make_room(), begin anew, at most kRetriesMax times. none: refused; nothing has
    // been written.
    Room reserve(bool may_retry) noexcept;
    void write() noexcept;

    // Frees the places of all. Whether one of them was not at rest.
    bool erase() noexcept;

   private:
    bool is_taken(const Bucket& bucket, int way) const noexcept;
    bool choose_place(KeyAccess& access, bool may_evict) noexcept;

    MemoryTable& table_;
    std::span<KeyAccess> accesses_;
    Instant now_;
    bool changed_ = false;
    std::size_t lock_count_ = 0;
    Bucket* locks_[2 * kAccessesMax];
  };

  // Moves keys so that `accesses` to be written find places. Requires no lock.
  void make_room(std::span<const KeyAccess> accesses, Instant now) noexcept;

  // Frees what keys at rest own in the slab, in the next `count` buckets of a walk around the
  // table. Returns how many slabs.
  int sweep_slabs(std::uint32_t count, Instant now) noexcept;

  std::uint64_t estimate_keys(Instant now) const noexcept;  // Not at rest.
  std::uint64_t evictions() const noexcept { return evictions_.load(std::memory_order_relaxed); }
  std::uint64_t refusals() const noexcept { return refusals_.load(std::memory_order_relaxed); }
  int lines_touched_max() const noexcept { return lines_max_.load(std::memory_order_relaxed); }
  std::size_t bytes() const noexcept { return std::size_t{bucket_count_} * sizeof(Bucket); }

 private:
  struct Place {
    std::uint32_t first;
    std::uint32_t second;  // Perhaps equal to first.
    std::uint32_t tag;
  };
  enum class Attempt : std::uint8_t { done, absent, again };

  MemoryTable(ZeroPages pages, std::uint32_t bucket_count, WhenFull when_full, Slab* slab) noexcept;

  std::uint32_t scale(std::uint32_t hash) const noexcept {
    return static_cast<std::uint32_t>(std::uint64_t{hash} * bucket_count_ >> 32);
  }
  // Its own inverse: the other bucket's other bucket is this one.
  std::uint32_t other_bucket(std::uint32_t bucket, std::uint32_t tag) const noexcept {
    const std::uint32_t sum = scale(tag * 0x9E37'79B1U);  // The golden ratio spreads like tags.
    return sum >= bucket ? sum - bucket : sum + (bucket_count_ - bucket);
  }
  std::uint32_t first_bucket(KeyHash hash) const noexcept {
    return scale(static_cast<std::uint32_t>(hash.high >> 32));
  }
  static std::uint32_t tag_of(KeyHash hash) noexcept {
    const auto tag = static_cast<std::uint32_t>(hash.low);
    return tag == 0 ? 1 : tag;
  }
  Place place_of(KeyHash hash) const noexcept {
    const std::uint32_t first = first_bucket(hash);
    return {first, other_bucket(first, tag_of(hash)), tag_of(hash)};
  }

  // Where the key is, if it is anywhere: the first bucket if it holds the tag, else the second. One
  // key in nine is in its second: in a batch, whose first lines are there already, a mispredicted
  // branch on that costs more than working out both. (For a single key it is the other way round.)
  Bucket& likely_bucket(KeyHash hash) const noexcept {
    const Place place = place_of(hash);
    const std::uint32_t is_first = buckets_[place.first].has(place.tag) ? ~std::uint32_t{0} : 0;
    return buckets_[place.second ^ ((place.first ^ place.second) & is_first)];
  }
  template <typename Decide>
  static Attempt try_update(Bucket& bucket, std::uint32_t version, std::uint32_t tag,
                            Decide& decide);
  template <typename Decide>
  bool update_elsewhere(KeyHash hash, Instant now, Decide& decide);
  template <typename Decide>
  bool update_locked(KeyHash hash, Instant now, Decide& decide);

  void move_towards(const Place& place, Instant now) noexcept;
  bool move(std::uint32_t from, int way, std::uint32_t to, Instant now) noexcept;
  void free_slab_of(const Bucket& bucket, int way) noexcept;
  void note_lines(int searched) noexcept;

  ZeroPages pages_;
  Bucket* buckets_;
  std::uint32_t bucket_count_;
  WhenFull when_full_;
  Slab* slab_;
  std::atomic<std::uint32_t> sweep_at_{0};
  std::atomic<std::uint64_t> evictions_{0};
  std::atomic<std::uint64_t> refusals_{0};
  std::atomic<int> lines_max_{2};
};

template <typename Decide>
inline MemoryTable::Attempt MemoryTable::try_update(Bucket& bucket, std::uint32_t version,
                                                    std::uint32_t tag, Decide& decide) {
  if (Bucket::is_locked(version)) return Attempt::again;
  const int way = bucket.find(tag);
  if (way == Bucket::kAbsent) return Attempt::absent;
  SlotState slot = bucket.state(way);
  if (bucket.version() != version) return Attempt::again;
  if (!decide(slot.state)) return Attempt::done;
  if (!bucket.try_lock(version)) return Attempt::again;
  bucket.set_state(way, {.state = slot.state});
  bucket.unlock(true);
  return Attempt::done;
}

template <typename Decide>
inline bool MemoryTable::update(KeyHash hash, Instant now, Decide&& decide) {
  Bucket& bucket = buckets_[first_bucket(hash)];
  const Attempt attempt = try_update(bucket, bucket.version(), tag_of(hash), decide);
  return attempt == Attempt::done || update_elsewhere(hash, now, decide);
}
// The key is in its second bucket, or nowhere, or somebody was writing.
template <typename Decide>
[[gnu::noinline]] bool MemoryTable::update_elsewhere(KeyHash hash, Instant now, Decide& decide) {
  const Place place = place_of(hash);
  Backoff backoff;
  for (const std::uint32_t index : {place.first, place.second}) {
    Bucket& bucket = buckets_[index];
    for (;; backoff.pause()) {
      const Attempt attempt = try_update(bucket, bucket.version(), place.tag, decide);
      if (attempt == Attempt::done) return true;
      if (attempt == Attempt::absent) break;
    }
  }
  return update_locked(hash, now, decide);
}

// The truth about a key that was seen in neither bucket takes both locks: it may have moved from
// the second to the first meanwhile.
template <typename Decide>
[[gnu::noinline]] bool MemoryTable::update_locked(KeyHash hash, Instant now, Decide& decide) {
  KeyAccess access{.hash = hash};
  for (int retries = kRetriesMax;; --retries) {
    {
      Transaction transaction(*this, {&access, 1}, now);
      access.write = decide(access.slot.state);
      if (!access.write) return true;
      const Transaction::Room room = transaction.reserve(retries > 0);
      if (room == Transaction::Room::found) transaction.write();
      if (room != Transaction::Room::retry) return room == Transaction::Room::found;
    }
    make_room({&access, 1}, now);
  }
}

template <typename Decide, typename Refused>
void MemoryTable::update_each(std::span<const KeyHash> hashes, Instant now, Decide&& decide,
                              Refused&& refused) {
  for (const KeyHash hash : hashes) __builtin_prefetch(&buckets_[first_bucket(hash)], 1);
  std::array<Bucket*, kBatchMax> buckets;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    buckets[i] = &likely_bucket(hashes[i]);
    __builtin_prefetch(buckets[i], 1);
  }
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const auto decide_one = [&](State& state) { return decide(i, state); };
    const Attempt attempt =
        try_update(*buckets[i], buckets[i]->version(), tag_of(hashes[i]), decide_one);
    if (attempt != Attempt::done && !update_elsewhere(hashes[i], now, decide_one)) refused(i);
  }
}

}  // namespace sluice
