#include "sluice/keyed_limiter.h"

#include <array>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/compact_keyed_limiter.h"
#include "sluice/fake_clock.h"

namespace sluice {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Instant kStart{1'000'000'000'000};
constexpr Limit kTen{.algorithm = Algorithm::token_bucket, .requests = 10, .burst = 10};

class CountingClock final : public Clock {
 public:
  Instant now() const noexcept override {
    ++reads;
    return kStart;
  }
  Duration wall_offset() const noexcept override { return {}; }
  mutable int reads = 0;
};

const CountingClock kClock;

std::unique_ptr<KeyedLimiter> open(const Limit& limit, const TableOptions& options = {},
                                   const Clock& clock = kClock) {
  auto limiter = KeyedLimiter::open(limit, clock, options);
  return std::move(*limiter);
}

std::unique_ptr<CompactKeyedLimiter> open_compact(const Limit& limit,
                                                  const TableOptions& options = {}) {
  auto limiter = CompactKeyedLimiter::open(limit, kClock, options);
  return std::move(*limiter);
}

TEST(KeyedLimiter, LimitsEachKeyForItself) {
  const auto limiter = open(kTen);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limiter->try_acquire("alice"));
  EXPECT_FALSE(limiter->try_acquire("alice"));
  EXPECT_TRUE(limiter->try_acquire("bob"));
  EXPECT_TRUE(limiter->try_acquire(7));
  EXPECT_TRUE(limiter->try_acquire(std::string_view{"\0\xff", 2}));
}

TEST(KeyedLimiter, ReadsTheClockOnceOrNotAtAll) {
  CountingClock clock;
  const auto limiter = open(kTen, {}, clock);
  clock.reads = 0;
  limiter->try_acquire("a", 1, kStart);
  limiter->decide("a", 1, kStart);
  limiter->peek("a", 1, kStart);
  limiter->refund("a", 1, kStart);
  EXPECT_EQ(clock.reads, 0);
  limiter->try_acquire("a");
  EXPECT_EQ(clock.reads, 1);
  limiter->decide("a");
  EXPECT_EQ(clock.reads, 2);
}

TEST(KeyedLimiter, SaysWhenToComeBackAndIsTrueToIt) {
  const auto limiter = open(kTen);
  limiter->try_acquire("a", 10, kStart);
  const Decision denied = limiter->decide("a", 1, kStart);
  EXPECT_EQ(denied.verdict, Verdict::denied);
  EXPECT_EQ(denied.retry_after, milliseconds{100});
  EXPECT_FALSE(limiter->try_acquire("a", 1, kStart + milliseconds{100} - nanoseconds{1}));
  EXPECT_TRUE(limiter->try_acquire("a", 1, kStart + milliseconds{100}));
  EXPECT_EQ(limiter->decide("a", 11, kStart).retry_after, kNever);
}

TEST(KeyedLimiter, RefundsAndResets) {
  const auto limiter = open(kTen);
  limiter->try_acquire("a", 8);
  limiter->refund("a", 3);
  EXPECT_EQ(limiter->peek("a").remaining, 5U);
  limiter->refund("a", 50);
  EXPECT_EQ(limiter->peek("a").remaining, 10U);
  limiter->try_acquire("a", 8);
  EXPECT_TRUE(limiter->reset("a"));
  EXPECT_FALSE(limiter->reset("a"));
  EXPECT_EQ(limiter->peek("a").remaining, 10U);
}

TEST(KeyedLimiter, ALiveChangeKeepsTheTokens) {
  const auto limiter = open(kTen);
  limiter->try_acquire("a", 6);
  ASSERT_TRUE(
      limiter->set_limit({.algorithm = Algorithm::token_bucket, .requests = 100, .burst = 100})
          .has_value());
  EXPECT_EQ(limiter->decide("a").remaining, 3U);
  EXPECT_EQ(limiter->decide("new").remaining, 99U);
  EXPECT_EQ(limiter->limit().requests, 100U);
}

TEST(KeyedLimiter, RefusesALimitThatIsNone) {
  const auto limiter = open(kTen);
  EXPECT_EQ(limiter->set_limit({.algorithm = Algorithm::concurrency}).error().code,
            ErrorCode::unsupported);
  EXPECT_EQ(limiter->set_limit({.requests = 1, .period = Duration{1}}).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(limiter->limit(), kTen);
  EXPECT_FALSE(KeyedLimiter::open(kTen, kClock, {.keys_max = 0}).has_value());
}

TEST(KeyedLimiter, AKeyWithAPlanOfItsOwnLeavesTheOthersAlone) {
  const auto limiter = open(kTen);
  const LimitPlan* const plan =
      *limiter->make_plan({.algorithm = Algorithm::token_bucket, .requests = 100, .burst = 100});
  EXPECT_EQ(limiter->decide("a", 1, kStart, *plan).remaining, 99U);
  EXPECT_EQ(limiter->decide("b", 1, kStart).remaining, 9U);
  const LimitPlan* const smaller =
      *limiter->make_plan({.algorithm = Algorithm::token_bucket, .requests = 50, .burst = 50});
  EXPECT_EQ(limiter->decide("a", 1, kStart, *smaller).remaining, 49U);
  EXPECT_EQ(limiter->peek("b", 1, kStart).remaining, 9U);
}

TEST(KeyedLimiter, ServesEveryOtherAlgorithm) {
  for (const Limit& limit : {
           Limit{.algorithm = Algorithm::fixed_window, .requests = 3},
           Limit{.algorithm = Algorithm::sliding_window, .requests = 3},
           Limit{.algorithm = Algorithm::sliding_window, .requests = 3, .sub_windows = 10},
           Limit{.algorithm = Algorithm::sliding_log, .requests = 3},
           Limit{.algorithm = Algorithm::leaky_bucket, .requests = 3, .burst = 2},
           Limit{.algorithm = Algorithm::token_bucket,
           .requests = 3,
           .burst = 3,
           .block_for = seconds{5}},
       }) {
    const auto limiter = open(limit);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(limiter->try_acquire("a", 1, kStart));
    EXPECT_FALSE(limiter->try_acquire("a", 1, kStart));
    std::array<bool, 2> is_allowed{};
    limiter->try_acquire(std::array<LimiterKey, 2>{"a", "b"}, 1, kStart, is_allowed);
    EXPECT_FALSE(is_allowed[0]);
    EXPECT_TRUE(is_allowed[1]);
  }
}

TEST(KeyedLimiter, ABatchIsItsSingleDecisionsInOrder) {
  const auto batched = open(kTen);
  const auto single = open(kTen);
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<LimiterKey> keys;
    for (int i = 0; i < 100; ++i) keys.emplace_back(random() % 30);
    std::array<bool, 100> is_allowed{};
    const Instant now = kStart + milliseconds{round * 20};
    batched->try_acquire(keys, 2, now, is_allowed);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(is_allowed[i], single->try_acquire(keys[i], 2, now));
    }
  }
}

// Forgetting by age of use would let anybody's flood of new keys give an abuser a fresh bucket.
TEST(KeyedLimiter, AVictimStaysDeniedUnderAFloodOfNewKeys) {
  const Limit hourly{
      .algorithm = Algorithm::token_bucket, .requests = 1, .period = hours{1}, .burst = 10};
  const auto limiter = open(hourly, {.keys_max = 10'000});
  EXPECT_TRUE(limiter->try_acquire("victim", 10, kStart));
  for (int i = 0; i < 1'000'000; ++i) {
    ASSERT_TRUE(limiter->try_acquire(i, 1, kStart));
    if (i % 1000 == 0) {
      ASSERT_FALSE(limiter->try_acquire("victim", 1, kStart));
    }
  }
  EXPECT_FALSE(limiter->try_acquire("victim", 1, kStart));
  EXPECT_GT(limiter->counters().evictions, 900'000U);
}

TEST(KeyedLimiter, RefusesNewKeysWhenFullAndSoAsked) {
  const auto limiter = open(kTen, {.keys_max = 100, .when_full = WhenFull::refuse});
  std::uint64_t undecided = 0;
  for (int i = 0; i < 1000; ++i) {
    undecided += limiter->decide(i, 1, kStart).verdict == Verdict::undecided ? 1 : 0;
  }
  EXPECT_GT(undecided, 0U);
  EXPECT_EQ(limiter->counters().refusals, undecided);
  EXPECT_EQ(limiter->counters().evictions, 0U);
}

TEST(KeyedLimiter, KeysThatComeToRestLeaveNoTrace) {
  const auto limiter = open(kTen, {.keys_max = 1000, .when_full = WhenFull::refuse});
  for (int i = 0; i < 3'000'000; ++i) {
    // Each key rests after 100 ms; at one a ms a hundred are live at once.
    ASSERT_TRUE(limiter->try_acquire(i, 1, kStart + milliseconds{i}));
  }
  EXPECT_EQ(limiter->counters().refusals, 0U);
  EXPECT_EQ(limiter->counters().evictions, 0U);
}

TEST(KeyedLimiter, ThreadsWithDifferentClocksAdmitNoMoreThanBurstAndRate) {
  const Limit limit{.algorithm = Algorithm::token_bucket, .requests = 1000, .burst = 10};
  const auto limiter = open(limit, {.keys_max = 1});
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int us = 0; us < 10'000'000; us += 20) {
        const Instant now = kStart + std::chrono::microseconds{us + t};
        if (limiter->try_acquire("a", 1, now)) ++admitted;
        if (us % 1000 == 0) limiter->try_acquire(us, 1, now);  // Others come and go.
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(admitted, 10'010);
  EXPECT_GE(admitted, 9'900);
}

TEST(CompactKeyedLimiter, LimitsEachKeyForItself) {
  const auto limiter = open_compact(kTen);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limiter->try_acquire("alice", 1, kStart));
  EXPECT_FALSE(limiter->try_acquire("alice", 1, kStart));
  EXPECT_TRUE(limiter->try_acquire("bob", 1, kStart));
  EXPECT_TRUE(limiter->try_acquire("carol", 10, kStart));
  EXPECT_FALSE(limiter->try_acquire("dave", 11, kStart));
  EXPECT_EQ(limiter->peek("dave", 11, kStart).retry_after, kNever);
  EXPECT_EQ(limiter->decide("bob", 1, kStart).remaining, 8U);
  limiter->refund("bob", 1, kStart);
  EXPECT_EQ(limiter->peek("bob", 1, kStart).remaining, 9U);
  limiter->reset("alice");
  EXPECT_TRUE(limiter->try_acquire("alice", 10, kStart));
}

TEST(CompactKeyedLimiter, RefusesWhatItCannotKeep) {
  const auto code_of = [](const Limit& limit) {
    return CompactKeyedLimiter::open(limit, kClock).error().code;
  };
  EXPECT_EQ(code_of({.algorithm = Algorithm::fixed_window, .requests = 1}), ErrorCode::unsupported);
  EXPECT_EQ(code_of({.algorithm = Algorithm::token_bucket, .requests = 0, .burst = 1}),
            ErrorCode::unsupported);
  EXPECT_EQ(code_of({.algorithm = Algorithm::token_bucket,
                     .requests = 1'000'000'000,
                     .burst = CompactKeyedLimiter::kBurstMax + 1}),
            ErrorCode::unsupported);
}

// Polled at every moment that could matter, a drained key is given the rate to within 0.1 %.
TEST(CompactKeyedLimiter, KeepsEveryRateToAThousandth) {
  struct Case {
    std::uint32_t requests;
    Duration period;
  };
  for (const Case& rate :
       {Case{1, hours{24 * 365}}, Case{1, seconds{1}}, Case{7, seconds{3}}, Case{1000, seconds{1}},
        Case{700'000'000, seconds{1}}, Case{1'000'000'000, seconds{1}}}) {
    const Limit limit{.algorithm = Algorithm::token_bucket,
                      .requests = rate.requests,
                      .period = rate.period,
                      .burst = 5};
    const auto limiter = open_compact(limit, {.keys_max = 10});
    const Instant start = kStart + hours{24 * 365 * 20};
    constexpr int kTokens = 20'000;
    const double token_ns =
        static_cast<double>(rate.period.count()) / static_cast<double>(rate.requests);
    int taken = 0;
    const auto at = [&](double ns) { return start + Duration{static_cast<std::int64_t>(ns)}; };
    for (int i = 0; i <= 2 * kTokens; ++i) {
      taken += limiter->try_acquire("a", 1, at(i * token_ns / 2)) ? 1 : 0;
      if (i * token_ns / 2 > 2e17) {  // Within what an instant can say.
        EXPECT_NEAR(taken, 5 + i / 2, 1 + i * 0.0005);
        break;
      }
      if (i == 2 * kTokens) {
        EXPECT_NEAR(taken, kTokens + 5, kTokens * 0.001 + 1);
      }
    }
  }
}

TEST(CompactKeyedLimiter, AVictimStaysDeniedUnderAFloodOfNewKeys) {
  const Limit hourly{
      .algorithm = Algorithm::token_bucket, .requests = 1, .period = hours{1}, .burst = 10};
  const auto limiter = open_compact(hourly, {.keys_max = 10'000});
  EXPECT_TRUE(limiter->try_acquire("victim", 10, kStart));
  for (int i = 0; i < 1'000'000; ++i) limiter->try_acquire(i, 1, kStart);
  EXPECT_FALSE(limiter->try_acquire("victim", 1, kStart));
  EXPECT_GT(limiter->counters().evictions, 900'000U);
}

TEST(CompactKeyedLimiter, KeepsAsManyKeysAsItPromises) {
  constexpr int kKeys = 1'000'000;
  const auto limiter = open_compact(kTen, {.keys_max = kKeys, .when_full = WhenFull::refuse});
  EXPECT_LE(limiter->bytes(), kKeys * 16 + 1024U);
  for (int i = 0; i < kKeys; ++i) ASSERT_TRUE(limiter->try_acquire(i, 5, kStart)) << i;
  int short_of = 0;
  for (int i = 0; i < kKeys; ++i) short_of += limiter->try_acquire(i, 5, kStart) ? 0 : 1;
  EXPECT_LE(short_of, 10);  // They share a bucket with another key, by their 24 bits.
  EXPECT_EQ(limiter->counters().refusals, 0U);
}

TEST(CompactKeyedLimiter, ABatchIsItsSingleDecisionsInOrder) {
  const auto batched = open_compact(kTen);
  const auto single = open_compact(kTen);
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<LimiterKey> keys;
    for (int i = 0; i < 100; ++i) keys.emplace_back(random() % 30);
    std::array<bool, 100> is_allowed{};
    const Instant now = kStart + milliseconds{round * 20};
    batched->try_acquire(keys, 2, now, is_allowed);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(is_allowed[i], single->try_acquire(keys[i], 2, now));
    }
  }
}

TEST(CompactKeyedLimiter, ManyThreadsThatAddTheSameKeysAdmitExactlyTheBurst) {
  const auto limiter = open_compact(kTen, {.keys_max = 1000});
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 500; ++i) admitted += limiter->try_acquire(i, 1, kStart) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, 500 * 10);
}

}  // namespace
}  // namespace sluice
