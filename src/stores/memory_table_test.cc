#include "stores/memory_table.h"

#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/key_hash.h"

namespace sluice {
namespace {

constexpr Instant kNow{1'000'000};
constexpr Instant kLater{2'000'000};

std::unique_ptr<MemoryTable> open_table(std::size_t keys_max,
                                        WhenFull when_full = WhenFull::evict_nearest_to_rest,
                                        Slab* slab = nullptr) {
  auto table = MemoryTable::open({.keys_max = keys_max, .when_full = when_full}, slab);
  return std::move(*table);
}

KeyHash key(std::uint64_t number) {
  static const KeySeed seed;
  return seed.hash(number);
}

// Adds one to the payload of a key that rests at `rest_at`. What it was before, or -1: refused.
std::int64_t count(MemoryTable& table, KeyHash hash, Instant now = kNow, Instant rest_at = kLater) {
  std::int64_t before = -1;
  const bool had_room = table.update(hash, now, [&](State& state) {
    before = state.is_at_rest(now) ? 0 : static_cast<std::int64_t>(state.payload);
    state = {rest_at, static_cast<std::uint64_t>(before) + 1};
    return true;
  });
  return had_room ? before : -1;
}

TEST(MemoryTable, RefusesASizeOutOfRange) {
  EXPECT_EQ(MemoryTable::open({.keys_max = 0}, nullptr).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(MemoryTable::open({.keys_max = (std::size_t{1} << 31) + 1}, nullptr).error().code,
            ErrorCode::invalid_argument);
}

TEST(MemoryTable, KeepsWhatDecideSaysToKeep) {
  const auto table = open_table(100);
  EXPECT_EQ(count(*table, key(1)), 0);
  EXPECT_EQ(count(*table, key(1)), 1);
  EXPECT_EQ(count(*table, key(2)), 0);
  EXPECT_EQ(table->read(key(1)).state.payload, 2U);
}

TEST(MemoryTable, KeepsNothingWhenDecideSaysNo) {
  const auto table = open_table(100);
  const auto refuse = [](State& state) {
    state = {kLater, 99};
    return false;
  };
  EXPECT_TRUE(table->update(key(1), kNow, refuse));
  EXPECT_EQ(table->read(key(1)).state.payload, 0U);
  count(*table, key(1));
  EXPECT_TRUE(table->update(key(1), kNow, refuse));
  EXPECT_EQ(table->read(key(1)).state.payload, 1U);
}

TEST(MemoryTable, GivesThePlaceOfAKeyAtRestToAnother) {
  const auto table = open_table(1, WhenFull::refuse);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Instant now{static_cast<std::int64_t>(i) * 10};
    EXPECT_EQ(count(*table, key(i), now, now + Duration{10}), 0);
  }
  EXPECT_EQ(table->evictions(), 0U);
  EXPECT_EQ(table->refusals(), 0U);
}

TEST(MemoryTable, LosesNoneOfAsManyKeysAsItPromises) {
  constexpr std::size_t kKeys = 1'000'000;
  const auto table = open_table(kKeys, WhenFull::refuse);
  EXPECT_LE(table->bytes(), kKeys * 32 + 1024);
  for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_EQ(count(*table, key(i)), 0);
  for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_EQ(count(*table, key(i)), 1);
  EXPECT_EQ(table->refusals(), 0U);
  EXPECT_NEAR(static_cast<double>(table->estimate_keys(kNow)), kKeys, kKeys * 0.05);
  EXPECT_EQ(table->estimate_keys(kLater), 0U);
}

TEST(MemoryTable, LosesNoneWhenFourThreadsFillIt) {
  constexpr std::uint64_t kKeys = 200'000;
  const auto table = open_table(kKeys, WhenFull::refuse);
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&table, t] {
      // Neighbouring threads share half of their keys, so that they also meet on adding one.
      for (std::uint64_t i = 0; i < kKeys / 2; ++i) {
        count(*table, key((t / 2 * (kKeys / 2)) + i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::uint64_t i = 0; i < kKeys; ++i) ASSERT_EQ(count(*table, key(i)), 2) << i;
  EXPECT_EQ(table->refusals(), 0U);
}

TEST(MemoryTable, EvictsTheKeyNearestToRestWhenFullAndCountsIt) {
  const auto table = open_table(1);  // A few buckets; every key beyond their places must evict.
  constexpr std::uint64_t kKeys = 400;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    count(*table, key(i), kNow, kLater + Duration{static_cast<std::int64_t>(i)});
  }
  const std::uint64_t kept = table->estimate_keys(kNow);
  EXPECT_EQ(table->evictions(), kKeys - kept);
  EXPECT_GT(kept, 0U);
  EXPECT_EQ(table->refusals(), 0U);
  // The key furthest from rest is the last that any other may push out.
  EXPECT_EQ(table->read(key(kKeys - 1)).state.payload, 1U);
  EXPECT_EQ(table->read(key(0)).state.payload, 0U);
}

TEST(MemoryTable, RefusesANewKeyWhenFullAndSoAsked) {
  const auto table = open_table(1, WhenFull::refuse);
  std::uint64_t refused = 0;
  std::vector<std::uint64_t> kept;
  for (std::uint64_t i = 0; i < 400; ++i) {
    if (count(*table, key(i)) < 0) {
      ++refused;
    } else {
      kept.push_back(i);
    }
  }
  EXPECT_GT(refused, 0U);
  EXPECT_EQ(table->refusals(), refused);
  EXPECT_EQ(table->evictions(), 0U);
  for (const std::uint64_t i : kept) EXPECT_EQ(count(*table, key(i)), 1);
}

TEST(MemoryTable, NeverTouchesMoreLinesThanItSaysEvenWhenOverfull) {
  const auto table = open_table(10'000);
  for (std::uint64_t i = 0; i < 100'000; ++i) count(*table, key(i));
  EXPECT_GT(table->lines_touched_max(), 10);  // It did search.
  EXPECT_LE(table->lines_touched_max(), MemoryTable::kLinesMax);
}

TEST(MemoryTable, ErasedKeyIsOneNeverSeen) {
  const auto table = open_table(100);
  EXPECT_FALSE(table->erase(key(1), kNow));
  count(*table, key(1));
  EXPECT_FALSE(table->erase(key(1), kLater));
  count(*table, key(1));
  EXPECT_TRUE(table->erase(key(1), kNow));
  EXPECT_EQ(count(*table, key(1)), 0);
}

TEST(MemoryTable, ABatchIsItsSingleUpdatesInOrder) {
  const auto one = open_table(100);
  const auto batched = open_table(100);
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<KeyHash> hashes(32);
    for (KeyHash& hash : hashes) hash = key(random() % 40);  // With duplicates.
    std::vector<std::int64_t> single;
    for (const KeyHash hash : hashes) single.push_back(count(*one, hash));
    std::vector<std::int64_t> many(hashes.size(), -1);
    batched->update_each(
        hashes, kNow,
        [&](std::size_t i, State& state) {
          many[i] = static_cast<std::int64_t>(state.payload);
          state = {kLater, state.payload + 1};
          return true;
        },
        [](std::size_t) { FAIL(); });
    EXPECT_EQ(many, single);
  }
}

// A key is always whole: its two words never come from two different writes.
TEST(MemoryTable, ReadersNeverSeeHalfAWrite) {
  const auto table = open_table(1);
  constexpr int kWrites = 100'000;
  std::atomic<bool> is_done{false};
  std::thread writer([&] {
    for (int i = 1; i <= kWrites; ++i) {
      table->update(key(1), kNow, [i](State& state) {
        state = {kLater + Duration{i}, static_cast<std::uint64_t>(i)};
        return true;
      });
      // Others come and go in the same few buckets and make the key move.
      count(*table, key(static_cast<std::uint64_t>(2 + i % 30)), kNow, kNow + Duration{i % 3});
    }
    is_done = true;
  });
  std::uint64_t last = 0;
  while (!is_done) {
    const State state = table->read(key(1)).state;
    if (state.payload == 0) continue;
    ASSERT_EQ(state.rest_at, kLater + Duration{static_cast<std::int64_t>(state.payload)});
    ASSERT_GE(state.payload, last);
    last = state.payload;
  }
  writer.join();
}

TEST(MemoryTable, ManyThreadsOnOneKeyLoseNoCount) {
  const auto table = open_table(1);
  constexpr int kThreads = 8;
  constexpr int kEach = 20'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) count(*table, key(1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table->read(key(1)).state.payload, std::uint64_t{kThreads} * kEach);
}

TEST(MemoryTable, TransfersBetweenKeysUnderLocksConserveTheirSum) {
  const auto table = open_table(50);
  constexpr std::uint64_t kKeys = 12;
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    table->update(key(i), kNow, [](State& state) {
      state = {kLater, 1000};
      return true;
    });
  }
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&table, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t from = random() % kKeys;
        const std::uint64_t to = (from + 1 + random() % (kKeys - 1)) % kKeys;
        std::array<KeyAccess, 2> accesses{KeyAccess{.hash = key(from)}, KeyAccess{.hash = key(to)}};
        MemoryTable::Transaction transaction(*table, accesses, kNow);
        if (accesses[0].slot.state.payload == 0) continue;
        --accesses[0].slot.state.payload;
        ++accesses[1].slot.state.payload;
        accesses[0].write = accesses[1].write = true;
        ASSERT_EQ(transaction.reserve(false), MemoryTable::Transaction::Room::found);
        transaction.write();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < kKeys; ++i) sum += table->read(key(i)).state.payload;
  EXPECT_EQ(sum, kKeys * 1000);
}

std::unique_ptr<Slab> open_slab() {
  auto slab = Slab::open(1 << 20);
  return std::move(*slab);
}

// Gives the key 64 bytes of the slab.
void own_slab(MemoryTable& table, Slab& slab, KeyHash hash, Instant rest_at) {
  std::array<KeyAccess, 1> accesses{KeyAccess{.hash = hash}};
  MemoryTable::Transaction transaction(table, accesses, kNow);
  accesses[0].slot = {.state = {rest_at, slab.allocate(64)}, .owns_slab = true};
  accesses[0].write = true;
  ASSERT_EQ(transaction.reserve(false), MemoryTable::Transaction::Room::found);
  transaction.write();
}

TEST(MemoryTable, HandsBackTheSlabOfAKeyThatLosesItsPlace) {
  const auto slab = open_slab();
  const auto table = open_table(1, WhenFull::evict_nearest_to_rest, slab.get());
  own_slab(*table, *slab, key(1), kNow + Duration{1});
  EXPECT_TRUE(table->read(key(1)).owns_slab);
  EXPECT_EQ(table->read(key(1)).state.rest_at, kNow + Duration{1});
  EXPECT_EQ(slab->bytes_used(), 64U);
  for (std::uint64_t i = 2; i < 400; ++i) count(*table, key(i));
  EXPECT_EQ(slab->bytes_used(), 0U);
}

TEST(MemoryTable, SweepsAndErasesSlabs) {
  const auto slab = open_slab();
  const auto table = open_table(100, WhenFull::evict_nearest_to_rest, slab.get());
  own_slab(*table, *slab, key(1), kNow + Duration{1});
  own_slab(*table, *slab, key(2), kLater);
  EXPECT_EQ(table->sweep_slabs(1000, kNow), 0);
  EXPECT_EQ(table->sweep_slabs(1000, kNow + Duration{1}), 1);
  EXPECT_EQ(slab->bytes_used(), 64U);
  EXPECT_TRUE(table->erase(key(2), kNow));
  EXPECT_EQ(slab->bytes_used(), 0U);
}

}  // namespace
}  // namespace sluice
