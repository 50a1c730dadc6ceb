#include "sluice/leased_limiter.h"

#include <barrier>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/fake_clock.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

Limit bucket(std::uint32_t requests, std::uint32_t burst) {
  return {.algorithm = Algorithm::token_bucket, .requests = requests, .burst = burst};
}

class LeasedLimiterTest : public testing::Test {
 protected:
  void open(const Limit& limit, unsigned threads_max) {
    limiter_ = LeasedLimiter::open(limit, clock_, {.threads_max = threads_max}).value();
  }
  int drain() {
    int admitted = 0;
    while (limiter_->try_acquire()) ++admitted;
    return admitted;
  }

  FakeClock clock_;
  std::unique_ptr<LeasedLimiter> limiter_;
};

TEST_F(LeasedLimiterTest, TheShareIsBoundedByBurstAndRate) {
  open(bucket(1'000'000, 100'000), 8);
  EXPECT_EQ(limiter_->share(), 64U);
  open(bucket(1'000'000, 640), 8);
  EXPECT_EQ(limiter_->share(), 10U);
  open(bucket(5'000, 100'000), 8);
  EXPECT_EQ(limiter_->share(), 5U);
  open(bucket(999, 100'000), 8);
  EXPECT_EQ(limiter_->share(), 0U);
  open(bucket(1'000'000, 63), 8);
  EXPECT_EQ(limiter_->share(), 0U);
}

TEST_F(LeasedLimiterTest, ALowLimitIsExact) {
  open(bucket(10, 10), 8);
  EXPECT_EQ(drain(), 10);
  clock_.advance(100ms);
  EXPECT_EQ(drain(), 1);
}

TEST_F(LeasedLimiterTest, SpendsItsLeaseWithoutReadingTheClock) {
  open(bucket(1'000'000, 100'000), 8);
  EXPECT_TRUE(limiter_->try_acquire());
  const std::uint64_t reads = clock_.reads();
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(limiter_->try_acquire());
  EXPECT_EQ(clock_.reads(), reads);
  EXPECT_TRUE(limiter_->try_acquire());
  EXPECT_EQ(clock_.reads(), reads + 1);
}

TEST_F(LeasedLimiterTest, EightThreadsTogetherNeverExceedTheBurst) {
  open(bucket(1'000'000, 10'000), 8);
  std::atomic<int> admitted{0};
  std::barrier together(8, [&]() noexcept { clock_.advance(1s); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) (void)limiter_->try_acquire();  // Each with a lease, then idle:
      together.arrive_and_wait();
      admitted += drain();
      together.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(admitted, 10'000);
  EXPECT_GE(admitted, 10'000 - 8 * 64);
}

TEST_F(LeasedLimiterTest, AThreadThatEndsReturnsItsLease) {
  open(bucket(1'000'000, 10'000), 8);
  std::thread([&] { EXPECT_TRUE(limiter_->try_acquire()); }).join();
  EXPECT_EQ(limiter_->leased(), 0U);
  EXPECT_EQ(drain(), 10'000 - 8 * 64 - 1);  // All that was not carved out, but for that one hit.
}

TEST_F(LeasedLimiterTest, AnIdleLeaseIsUsableByOthersAfterAMillisecond) {
  open(bucket(1'000'000, 10'000), 8);
  std::latch has_lease(1);
  std::latch may_end(1);
  std::thread idler([&] {
    EXPECT_TRUE(limiter_->try_acquire());
    has_lease.count_down();
    may_end.wait();
  });
  has_lease.wait();
  drain();
  EXPECT_EQ(limiter_->leased(), 64U);
  clock_.advance(LeasedLimiter::kIdle);
  const int refilled = 1000;  // One millisecond's tokens
  EXPECT_EQ(drain(), refilled + 64);
  EXPECT_EQ(limiter_->recalls(), 1U);
  EXPECT_EQ(limiter_->leased(), 0U);
  may_end.count_down();
  idler.join();
}

TEST_F(LeasedLimiterTest, AThreadThatOutlivesItsLimiterIsHarmless) {
  open(bucket(1'000'000, 10'000), 2);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(limiter_->try_acquire());
    open(bucket(1'000'000, 10'000), 2);
  }
  EXPECT_TRUE(limiter_->try_acquire());
}

TEST_F(LeasedLimiterTest, MoreThreadsThanLeasesShareTheBucket) {
  open(bucket(1'000'000, 10'000), 1);
  EXPECT_TRUE(limiter_->try_acquire());  // This thread has the one lease.
  std::thread([&] {
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(limiter_->try_acquire());
  }).join();
  EXPECT_EQ(limiter_->leased(), 64U);
}

TEST_F(LeasedLimiterTest, ALiveChangeRecallsEveryLease) {
  open(bucket(1'000'000, 10'000), 8);
  EXPECT_TRUE(limiter_->try_acquire());
  EXPECT_EQ(limiter_->leased(), 64U);
  ASSERT_TRUE(limiter_->set_limit(bucket(1'000'000, 100)));
  EXPECT_EQ(limiter_->leased(), 0U);
  EXPECT_EQ(drain(), 100 - 8 * 1);
  EXPECT_EQ(limiter_->limit(), bucket(1'000'000, 100));
}

TEST_F(LeasedLimiterTest, RefusesWhatItCannotLease) {
  const auto code = [&](const Limit& limit) {
    return LeasedLimiter::open(limit, clock_).error().code;
  };
  EXPECT_EQ(code({.requests = 10}), ErrorCode::unsupported);
  EXPECT_EQ(code({.algorithm = Algorithm::token_bucket, .requests = 10, .overdraft = true}),
            ErrorCode::unsupported);
  EXPECT_EQ(code({.algorithm = Algorithm::token_bucket, .requests = 10, .period = 0s}),
            ErrorCode::invalid_argument);
}

// Spending, topping up, idling, recalling and changing the limit at once, while time runs: never
// more than the bucket of the whole limit.
TEST_F(LeasedLimiterTest, NeverAdmitsMoreThanTheLimitUnderStress) {
  open(bucket(100'000, 2'000), 4);
  constexpr int kMilliseconds = 2'000;
  std::atomic<std::int64_t> admitted{0};
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 5; ++t) {
    threads.emplace_back([&, t] {
      std::int64_t own = 0;
      for (int i = 0; !is_over; ++i) {
        own += limiter_->try_acquire();
        if (i % (1000 + t) == 0) std::this_thread::yield();
      }
      admitted += own;
    });
  }
  for (int ms = 0; ms < kMilliseconds; ++ms) {
    clock_.advance(1ms);
    if (ms % 100 == 0) {
      ASSERT_TRUE(limiter_->set_limit(bucket(100'000, ms % 200 == 0 ? 1'999 : 2'000)));
    }
    std::this_thread::yield();
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(admitted, 2'000 + 100 * kMilliseconds);
}

}  // namespace
}  // namespace sluice
