#include "stores/slab.h"

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::unique_ptr<Slab> open_slab(std::size_t bytes_max) {
  auto slab = Slab::open(bytes_max);
  return std::move(*slab);
}

TEST(Slab, GivesAlignedBlocksOfAtLeastTheSizeAskedFor) {
  const auto slab = open_slab(1 << 20);
  for (const std::size_t bytes : {0U, 1U, 64U, 65U, 1000U, 65'536U}) {
    const Slab::Handle handle = slab->allocate(bytes);
    ASSERT_NE(handle, Slab::kNone);
    EXPECT_GE(slab->block(handle).size(), bytes);
    EXPECT_LE(slab->block(handle).size(), std::max<std::size_t>(2 * bytes, 64));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slab->block(handle).data()) % 64, 0U);
  }
}

TEST(Slab, StopsAtItsBoundAndGoesOnAfterAFree) {
  const auto slab = open_slab(4096);
  std::vector<Slab::Handle> handles;
  for (int i = 0; i < 64; ++i) handles.push_back(slab->allocate(64));
  EXPECT_EQ(slab->bytes_used(), 4096U);
  EXPECT_EQ(slab->allocate(64), Slab::kNone);
  slab->free(handles[17]);
  EXPECT_EQ(slab->allocate(64), handles[17]);
}

TEST(Slab, ManySmallBlocksGivenBackServeOneLargeBlock) {
  const auto slab = open_slab(1 << 20);
  std::vector<Slab::Handle> handles;
  for (Slab::Handle h = slab->allocate(64); h != Slab::kNone; h = slab->allocate(64)) {
    handles.push_back(h);
  }
  EXPECT_EQ(handles.size(), (std::size_t{1} << 20) / 64);
  for (const Slab::Handle handle : handles) slab->free(handle);
  EXPECT_EQ(slab->bytes_used(), 0U);
  EXPECT_NE(slab->allocate(1 << 20), Slab::kNone);
}

TEST(Slab, OfNoBytesHasNoRoom) {
  const auto slab = open_slab(0);
  EXPECT_EQ(slab->allocate(1), Slab::kNone);
  slab->free(Slab::kNone);
}

TEST(Slab, RefusesBlocksLargerThanTheLargest) {
  const auto slab = open_slab(64 << 20);
  EXPECT_NE(slab->allocate(Slab::kBlockBytesMax), Slab::kNone);
  EXPECT_EQ(slab->allocate(Slab::kBlockBytesMax + 1), Slab::kNone);
  EXPECT_EQ(Slab::open(Slab::kBytesMax + 1).error().code, ErrorCode::invalid_argument);
}

TEST(Slab, BlocksNeverOverlapUnderRandomUseByManyThreads) {
  const auto slab = open_slab(1 << 20);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&slab, t] {
      std::mt19937 random(t);
      std::vector<Slab::Handle> mine;
      for (int i = 0; i < 20'000; ++i) {
        if (mine.size() < 50 && random() % 2 == 0) {
          const Slab::Handle handle = slab->allocate(1 + random() % 4096);
          if (handle == Slab::kNone) continue;
          std::memset(slab->block(handle).data(), static_cast<int>(t + 1),
                      slab->block(handle).size());
          mine.push_back(handle);
        } else if (!mine.empty()) {
          std::swap(mine[random() % mine.size()], mine.back());
          for (const std::byte byte : slab->block(mine.back())) {
            ASSERT_EQ(byte, static_cast<std::byte>(t + 1));
          }
          slab->free(mine.back());
          mine.pop_back();
        }
      }
      for (const Slab::Handle handle : mine) slab->free(handle);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(slab->bytes_used(), 0U);
}

}  // namespace
}  // namespace sluice
