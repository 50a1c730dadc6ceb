#include "stores/memory_table.h"

#include <algorithm>
#include <array>
#include <functional>

namespace sluice {
namespace {

constexpr std::uint64_t kKeysMax = std::uint64_t{1} << 31;
constexpr std::uint64_t kKeysPerBucket = 2;  // Of three places: 32 bytes a key.
// So that the chances of a few keys in a small table do not fill both buckets of one.
constexpr std::uint64_t kSpareBuckets = 8;

// Buckets of one search for room, the two of the key included. At the intended load some 0.4 of all
// buckets are full, so all of these are next to never.
constexpr int kSearchBucketsMax = 33;
static_assert(2 + (MemoryTable::kRetriesMax * (kSearchBucketsMax - 2)) <= MemoryTable::kLinesMax);

constexpr std::uint32_t kSampleBuckets = 4096;

}  // namespace

Result<std::unique_ptr<MemoryTable>> MemoryTable::open(const TableOptions& options, Slab* slab) {
  if (options.keys_max < 1 || options.keys_max > kKeysMax) {
    return Error{ErrorCode::invalid_argument, "keys_max: must lie between 1 and 2147483648"};
  }
  const std::uint64_t buckets =
      (options.keys_max + kKeysPerBucket - 1) / kKeysPerBucket + kSpareBuckets;
  Result<ZeroPages> pages = ZeroPages::open(buckets * sizeof(Bucket));
  if (!pages) return pages.error();
  return std::unique_ptr<MemoryTable>(new MemoryTable(
      std::move(*pages), static_cast<std::uint32_t>(buckets), options.when_full, slab));
}

MemoryTable::MemoryTable(ZeroPages pages, std::uint32_t bucket_count, WhenFull when_full,
                         Slab* slab) noexcept
    : pages_(std::move(pages)),
      buckets_(reinterpret_cast<Bucket*>(pages_.data())),  // All zero is an empty bucket.
      bucket_count_(bucket_count),
      when_full_(when_full),
      slab_(slab) {}

SlotState MemoryTable::read(KeyHash hash) const noexcept {
  const Place place = place_of(hash);
  const Bucket& first = buckets_[place.first];
  const Bucket& second = buckets_[place.second];
  for (Backoff backoff;; backoff.pause()) {
    const std::uint32_t first_version = first.version();
    const std::uint32_t second_version = second.version();
    if (Bucket::is_locked(first_version) || Bucket::is_locked(second_version)) continue;
    SlotState slot;
    if (const int way = first.find(place.tag); way != Bucket::kAbsent) {
      slot = first.state(way);
    } else if (const int other_way = second.find(place.tag); other_way != Bucket::kAbsent) {
      slot = second.state(other_way);
    }
    if (first.version() == first_version && second.version() == second_version) return slot;
  }
}

bool MemoryTable::erase(KeyHash hash, Instant now) noexcept {
  KeyAccess access{.hash = hash};
  Transaction transaction(*this, {&access, 1}, now);
  return transaction.erase();
}

void MemoryTable::prefetch(KeyHash hash) const noexcept {
  const Place place = place_of(hash);
  __builtin_prefetch(&buckets_[place.first], 1);
  __builtin_prefetch(&buckets_[place.second], 1);
}

MemoryTable::Transaction::Transaction(MemoryTable& table, std::span<KeyAccess> accesses,
                                      Instant now) noexcept
    : table_(table), accesses_(accesses), now_(now) {
  for (const KeyAccess& access : accesses_) {
    const Place place = table_.place_of(access.hash);
    locks_[lock_count_++] = &table_.buckets_[place.first];
    locks_[lock_count_++] = &table_.buckets_[place.second];
  }
  std::sort(locks_, locks_ + lock_count_, std::less<>{});
  lock_count_ = static_cast<std::size_t>(std::unique(locks_, locks_ + lock_count_) - locks_);
  for (std::size_t i = 0; i < lock_count_; ++i) locks_[i]->lock();

  for (KeyAccess& access : accesses_) {
    const Place place = table_.place_of(access.hash);
    access.bucket = &table_.buckets_[place.first];
    access.way = access.bucket->find(place.tag);
    if (access.way == Bucket::kAbsent) {
      access.bucket = &table_.buckets_[place.second];
      access.way = access.bucket->find(place.tag);
    }
    access.slot = access.way == Bucket::kAbsent ? SlotState{} : access.bucket->state(access.way);
  }
}

MemoryTable::Transaction::~Transaction() {
  for (std::size_t i = lock_count_; i > 0; --i) locks_[i - 1]->unlock(changed_);
}

bool MemoryTable::Transaction::is_taken(const Bucket& bucket, int way) const noexcept {
  return std::any_of(accesses_.begin(), accesses_.end(), [&](const KeyAccess& access) {
    return access.bucket == &bucket && access.way == way;
  });
}

// The place of the least loss: one at rest when there is, else, if `may_evict`, the nearest to it.
bool MemoryTable::Transaction::choose_place(KeyAccess& access, bool may_evict) noexcept {
  const Place place = table_.place_of(access.hash);
  Instant least = kInstantMax;
  for (const std::uint32_t index : {place.first, place.second}) {
    Bucket& bucket = table_.buckets_[index];
    for (int way = 0; way < Bucket::kWays; ++way) {
      if (is_taken(bucket, way)) continue;
      const Instant rest_at = bucket.rest_at(way);
      const bool is_free = rest_at <= now_;
      if (!is_free && (!may_evict || rest_at > least)) continue;
      least = rest_at;
      access.bucket = &bucket;
      access.way = way;
      if (is_free) return true;
    }
  }
  return access.way != Bucket::kAbsent;
}

MemoryTable::Transaction::Room MemoryTable::Transaction::reserve(bool may_retry) noexcept {
  const bool may_evict = !may_retry && table_.when_full_ == WhenFull::evict_nearest_to_rest;
  bool found_all = true;
  for (KeyAccess& access : accesses_) {
    if (access.write && access.way == Bucket::kAbsent) {
      found_all &= choose_place(access, may_evict);
    }
  }
  if (found_all) return Room::found;
  if (may_retry) return Room::retry;
  table_.refusals_.fetch_add(1, std::memory_order_relaxed);
  return Room::none;
}

void MemoryTable::Transaction::write() noexcept {
  for (const KeyAccess& access : accesses_) {
    if (!access.write) continue;
    Bucket& bucket = *access.bucket;
    const std::uint32_t tag = tag_of(access.hash);
    if (bucket.tag(access.way) != tag) {
      table_.free_slab_of(bucket, access.way);
      if (!bucket.is_free(access.way, now_)) {
        table_.evictions_.fetch_add(1, std::memory_order_relaxed);
      }
    }
    bucket.set(access.way, tag, access.slot);
    changed_ = true;
  }
}

bool MemoryTable::Transaction::erase() noexcept {
  bool was_live = false;
  for (KeyAccess& access : accesses_) {
    if (access.way == Bucket::kAbsent) continue;
    was_live |= !access.bucket->is_free(access.way, now_);
    table_.free_slab_of(*access.bucket, access.way);
    access.bucket->clear(access.way);
    changed_ = true;
  }
  return was_live;
}

void MemoryTable::free_slab_of(const Bucket& bucket, int way) noexcept {
  if (slab_ != nullptr && bucket.owns_slab(way)) {
    slab_->free(static_cast<Slab::Handle>(bucket.state(way).state.payload));
  }
}

void MemoryTable::make_room(std::span<const KeyAccess> accesses, Instant now) noexcept {
  for (const KeyAccess& access : accesses) {
    if (access.write && access.way == Bucket::kAbsent) move_towards(place_of(access.hash), now);
  }
}

// Breadth first from the key's two buckets along the keys that could move, until a bucket has a
// free place; then the keys on the way there move, the last one first. Each move stands for itself,
// so nothing breaks when another thread changes a bucket between the search and the moves: the move
// is left out, and the caller looks again.
void MemoryTable::move_towards(const Place& place, Instant now) noexcept {
  struct Node {
    std::uint32_t bucket;
    int parent;  // Index of the node whose key would come here.
    int way;     // Of that key, in the parent's bucket.
  };
  std::array<Node, kSearchBucketsMax> nodes;
  int count = 0;
  nodes[count++] = {place.first, -1, 0};
  if (place.second != place.first) nodes[count++] = {place.second, -1, 0};
  const auto is_known = [&](std::uint32_t bucket) {
    return std::any_of(nodes.begin(), nodes.begin() + count,
                       [&](const Node& node) { return node.bucket == bucket; });
  };
  int found = -1;
  for (int at = 0; at < count && found < 0; ++at) {
    for (int way = 0; way < Bucket::kWays && count < kSearchBucketsMax && found < 0; ++way) {
      const Bucket& bucket = buckets_[nodes[at].bucket];
      const std::uint32_t other = other_bucket(nodes[at].bucket, bucket.tag(way));
      if (is_known(other)) continue;
      nodes[count] = {other, at, way};
      if (buckets_[other].find_free(now) != Bucket::kAbsent) found = count;
      ++count;
    }
  }
  note_lines(count);
  for (; found >= 0 && nodes[found].parent >= 0; found = nodes[found].parent) {
    const Node& node = nodes[found];
    if (!move(nodes[node.parent].bucket, node.way, node.bucket, now)) return;
  }
}

// Moves one key to its other bucket. False: it is no longer so that it could.
bool MemoryTable::move(std::uint32_t from, int way, std::uint32_t to, Instant now) noexcept {
  Bucket& source = buckets_[from];
  Bucket& target = buckets_[to];
  buckets_[std::min(from, to)].lock();
  buckets_[std::max(from, to)].lock();
  const int free_way = target.find_free(now);
  const std::uint32_t tag = source.tag(way);
  const bool can_move = free_way != Bucket::kAbsent && other_bucket(from, tag) == to;
  if (can_move) {
    free_slab_of(target, free_way);
    target.set(free_way, tag, source.state(way));
    source.clear(way);
  }
  source.unlock(can_move);
  target.unlock(can_move);
  return can_move;
}

void MemoryTable::note_lines(int searched) noexcept {
  // The key's own two buckets are in every search of a call, which makes kRetriesMax of them.
  const int lines = 2 + (kRetriesMax * (searched - 2));
  int most = lines_max_.load(std::memory_order_relaxed);
  while (lines > most &&
         !lines_max_.compare_exchange_weak(most, lines, std::memory_order_relaxed)) {
  }
}

int MemoryTable::sweep_slabs(std::uint32_t count, Instant now) noexcept {
  int freed = 0;
  for (std::uint32_t i = 0; i < std::min(count, bucket_count_); ++i) {
    Bucket& bucket = buckets_[sweep_at_.fetch_add(1, std::memory_order_relaxed) % bucket_count_];
    for (int way = 0; way < Bucket::kWays; ++way) {
      if (!bucket.owns_slab(way) || !bucket.is_free(way, now)) continue;
      bucket.lock();
      const bool is_idle = bucket.owns_slab(way) && bucket.is_free(way, now);
      if (is_idle) {
        free_slab_of(bucket, way);
        bucket.clear(way);
        ++freed;
      }
      bucket.unlock(is_idle);
    }
  }
  return freed;
}

std::uint64_t MemoryTable::estimate_keys(Instant now) const noexcept {
  const std::uint32_t sample = std::min(bucket_count_, kSampleBuckets);
  std::uint64_t keys = 0;
  for (std::uint32_t i = 0; i < sample; ++i) {
    const Bucket& bucket = buckets_[std::uint64_t{i} * bucket_count_ / sample];
    for (int way = 0; way < Bucket::kWays; ++way) keys += bucket.is_free(way, now) ? 0 : 1;
  }
  return keys * bucket_count_ / sample;
}

}  // namespace sluice
