// One limiter of each algorithm, on a fake clock. What the algorithms compute is proved beside
// them; here it is that the limiter asks them rightly, shares them among threads, and changes them
// live.
#include "sluice/limiter.h"

#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/fake_clock.h"
#include "sluice/system_clock.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

Limit bucket(std::uint32_t requests, std::uint32_t burst, Duration period = 1s) {
  return {
      .algorithm = Algorithm::token_bucket, .requests = requests, .period = period, .burst = burst};
}

Instant at(Duration since_epoch) {
  return Instant{} + since_epoch;
}

class LimiterTest : public testing::Test {
 protected:
  void open(const Limit& limit, const LimiterOptions& options = {}) {
    auto opened = Limiter::open(limit, clock_, options);
    ASSERT_TRUE(opened) << opened.error().message;
    limiter_ = std::move(*opened);
  }
  void drain() {
    while (limiter_->try_acquire(1, clock_.now())) {
    }
  }
  void expect_denied(Cost cost, Instant now, Duration retry_after) {
    const Decision decision = limiter_->decide(cost, now);
    EXPECT_EQ(decision.verdict, Verdict::denied);
    EXPECT_EQ(decision.retry_after, retry_after);
    EXPECT_FALSE(limiter_->try_acquire(cost, now));
  }

  FakeClock clock_;
  std::unique_ptr<Limiter> limiter_;
};

TEST_F(LimiterTest, SaysWhenTheNextTokenComes) {
  open(bucket(10, 10));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(limiter_->try_acquire(1, at(0s)));
  expect_denied(1, at(0s), 100ms);
  EXPECT_EQ(limiter_->decide(1, at(0s)).remaining, 0U);
  expect_denied(1, at(99'999'999ns), 1ns);
  EXPECT_TRUE(limiter_->try_acquire(1, at(100ms)));
}

TEST_F(LimiterTest, ChargesAllOrNothing) {
  open(bucket(10, 10));
  EXPECT_EQ(limiter_->decide(3, at(0s)).remaining, 7U);
  expect_denied(8, at(0s), 100ms);
  EXPECT_EQ(limiter_->peek(1, at(0s)).remaining, 7U);
  EXPECT_TRUE(limiter_->try_acquire(7, at(0s)));
}

TEST_F(LimiterTest, RefusesForEverWhatCanNeverFit) {
  open(bucket(10, 10));
  expect_denied(11, at(0s), kNever);
  expect_denied(kCostMax + 1, at(0s), kNever);
  EXPECT_EQ(limiter_->reserve(11, at(0s)).wait(), kNever);
  EXPECT_EQ(limiter_->acquire(11).outcome, AcquireOutcome::never);
  EXPECT_EQ(limiter_->peek(1, at(0s)).remaining, 10U);
}

TEST_F(LimiterTest, RefusesEverythingAtBurstZeroOrLimitZeroWithoutSpinning) {
  for (const Limit& limit : {bucket(10, 0), bucket(0, 5), bucket(0, 0)}) {
    open(limit);
    expect_denied(1, at(0s), kNever);
    EXPECT_EQ(limiter_->acquire(1).outcome, AcquireOutcome::never);
    EXPECT_TRUE(limiter_->try_acquire(0, at(0s)));
  }
}

TEST_F(LimiterTest, StartsWithTheTokensItIsGiven) {
  open(bucket(10, 10), {.initial = 0});
  expect_denied(1, at(0s), 100ms);
  open(bucket(10, 10), {.initial = 4});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(limiter_->try_acquire(1, at(0s)));
  EXPECT_FALSE(limiter_->try_acquire(1, at(0s)));
}

TEST_F(LimiterTest, RefusesInvalidLimits) {
  const auto code = [&](const Limit& limit, const LimiterOptions& options = {}) {
    return Limiter::open(limit, clock_, options).error().code;
  };
  EXPECT_EQ(code(bucket(10, 10, 0s)), ErrorCode::invalid_argument);
  EXPECT_EQ(code({.algorithm = Algorithm::concurrency, .requests = 1}), ErrorCode::unsupported);
  EXPECT_EQ(code(bucket(10, 10), {.initial = 11}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({.requests = 10}, {.initial = 1}), ErrorCode::invalid_argument);
}

TEST_F(LimiterTest, AdmitsExactlyTheRateWhenPolledEachNanosecond) {
  open(bucket(700'000'000, 1000));
  int admitted = 0;
  for (int ns = 0; ns < 1'000'000; ++ns) admitted += limiter_->try_acquire(1, Instant{ns});
  EXPECT_NEAR(admitted, 700'999, 1);
}

TEST_F(LimiterTest, IsExactAtAnyUptime) {
  for (const Duration uptime : {Duration{10'000'000s}, Duration{100'000'000s}}) {
    open(bucket(1'000'000'000, 100'000));
    int admitted = 0;
    while (limiter_->try_acquire(1, at(uptime))) ++admitted;
    EXPECT_EQ(admitted, 100'000);
  }
}

TEST_F(LimiterTest, AllowsTheFirstHitOfASlowRateAtAnyHostTime) {
  clock_.set(at(100s));
  open(bucket(1, 1, 10'000s));
  EXPECT_EQ(limiter_->reserve(1).wait(), 0s);
  EXPECT_EQ(limiter_->decide(1).retry_after, 10'000s);
}

TEST_F(LimiterTest, TakesALaggingNowForNoLater) {
  open(bucket(10, 10));
  EXPECT_TRUE(limiter_->try_acquire(10, at(10s)));
  expect_denied(1, at(5s), 5100ms);
  expect_denied(1, at(10s), 100ms);
  EXPECT_TRUE(limiter_->try_acquire(1, at(10'100ms)));
}

TEST_F(LimiterTest, AdmitsNoMoreWhenTwoClocksDiffer) {
  open(bucket(1000, 10));
  int admitted = 0;
  for (Duration now = 0s; now <= 10s; now += 50us) {
    admitted += limiter_->try_acquire(1, at(now));
    admitted += limiter_->try_acquire(1, at(now - 1us));
  }
  EXPECT_LE(admitted, 10'010);
  EXPECT_GE(admitted, 10'000);
}

TEST_F(LimiterTest, GivesOneBurstAfterAJumpOfTenYears) {
  open(bucket(10, 10));
  drain();
  const Duration later = 24h * 3650;
  int admitted = 0;
  while (limiter_->try_acquire(1, at(later))) ++admitted;
  EXPECT_EQ(admitted, 10);
  expect_denied(1, at(later), 100ms);
}

TEST_F(LimiterTest, NeverAdmitsMoreByAStaleClock) {
  open(bucket(1000, 1));
  int admitted = 0;
  for (Duration now = 0s; now < 1s; now += 10us) {
    const Duration stale = now - now % 1ms;
    admitted += limiter_->try_acquire(1, at(stale));
  }
  EXPECT_EQ(admitted, 1000);
}

TEST_F(LimiterTest, ReadsTheClockOncePerDecisionAndNeverWhenToldTheTime) {
  open(bucket(10, 10));
  const auto reads_of = [&](auto&& call) {
    const std::uint64_t before = clock_.reads();
    call();
    return clock_.reads() - before;
  };
  for (int i = 0; i < 20; ++i) {  // Allowed, then denied.
    EXPECT_EQ(reads_of([&] { limiter_->try_acquire(); }), 1U);
    EXPECT_EQ(reads_of([&] { limiter_->decide(); }), 1U);
    EXPECT_EQ(reads_of([&] { limiter_->peek(); }), 1U);
    EXPECT_EQ(reads_of([&] { limiter_->try_acquire(1, at(0s)); }), 0U);
    EXPECT_EQ(reads_of([&] { limiter_->decide(1, at(0s)); }), 0U);
    EXPECT_EQ(reads_of([&] { limiter_->peek(1, at(0s)); }), 0U);
    EXPECT_EQ(reads_of([&] { limiter_->refund(1, at(0s)); }), 0U);
  }
}

TEST_F(LimiterTest, IgnoresStepsOfTheWallClock) {
  for (const Algorithm algorithm : {Algorithm::token_bucket, Algorithm::fixed_window}) {
    clock_.set(at(1000s));
    open({.algorithm = algorithm, .requests = 10, .period = 10s, .burst = 10});
    drain();
    for (const Duration step : {Duration{-60s}, Duration{60s}}) {
      clock_.set_wall_offset(step);
      EXPECT_FALSE(limiter_->try_acquire());
    }
    clock_.set_wall_offset(0s);
    clock_.advance(10s);
    EXPECT_TRUE(limiter_->try_acquire());
  }
}

TEST_F(LimiterTest, AnswersRetriesHonestly) {
  open(bucket(3, 7, 1s));
  Instant now = at(0s);
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const Cost cost = 1 + random() % 7;
    const Duration retry = limiter_->decide(cost, now).retry_after;
    if (retry == 0s) continue;
    EXPECT_FALSE(limiter_->try_acquire(cost, now + retry - 1ns));
    now = now + retry;
    EXPECT_TRUE(limiter_->try_acquire(cost, now));
  }
}

TEST_F(LimiterTest, CountsEveryAlgorithmToItsLimit) {
  for (const Limit& limit :
       {Limit{.algorithm = Algorithm::fixed_window, .requests = 10},
        Limit{.algorithm = Algorithm::sliding_window, .requests = 10},
        Limit{.algorithm = Algorithm::sliding_window, .requests = 10, .sub_windows = 10},
        Limit{.algorithm = Algorithm::sliding_log, .requests = 10},
        Limit{.algorithm = Algorithm::token_bucket, .requests = 10, .burst = 10},
        Limit{.algorithm = Algorithm::leaky_bucket, .requests = 10, .burst = 9}}) {
    open(limit);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(limiter_->try_acquire(1, at(0s)));
    EXPECT_FALSE(limiter_->try_acquire(1, at(0s)));
    const Decision denied = limiter_->decide(1, at(1ms));
    EXPECT_EQ(denied.limit, 10U);
    EXPECT_FALSE(limiter_->try_acquire(1, at(1ms) + denied.retry_after - 1ns));
    EXPECT_TRUE(limiter_->try_acquire(1, at(1ms) + denied.retry_after));
  }
}

TEST_F(LimiterTest, RefundsToAtMostFull) {
  open(bucket(10, 10));
  EXPECT_TRUE(limiter_->try_acquire(3, at(0s)));
  limiter_->refund(3, at(0s));
  EXPECT_EQ(limiter_->peek(1, at(0s)).remaining, 10U);
  limiter_->refund(50, at(0s));
  EXPECT_EQ(limiter_->peek(1, at(0s)).remaining, 10U);
  drain();
  limiter_->refund(50, at(0s));
  EXPECT_EQ(limiter_->peek(1, at(0s)).remaining, 10U);
}

TEST_F(LimiterTest, ARefundEndsARefusalAtOnce) {
  open(bucket(10, 10));
  drain();
  EXPECT_FALSE(limiter_->try_acquire());
  limiter_->refund();
  EXPECT_TRUE(limiter_->try_acquire());
  EXPECT_FALSE(limiter_->try_acquire());
}

TEST_F(LimiterTest, PenaltiesGoIntoDebt) {
  open(bucket(10, 10));
  limiter_->charge(25, at(0s));
  expect_denied(1, at(0s), 1600ms);
  EXPECT_TRUE(limiter_->try_acquire(1, at(1600ms)));
}

TEST_F(LimiterTest, SettlesAnEstimateUpAndDown) {
  open(bucket(10, 20));
  EXPECT_TRUE(limiter_->try_acquire(20, at(0s)));
  limiter_->charge(4, at(0s));
  expect_denied(1, at(0s), 500ms);
  limiter_->refund(4, at(0s));
  expect_denied(1, at(0s), 100ms);
}

TEST_F(LimiterTest, BlocksForATimeAndRefillsMeanwhile) {
  open(bucket(10, 10));
  drain();
  limiter_->block(30s, at(0s));
  expect_denied(1, at(0s), 30s);
  limiter_->block(1s, at(0s));  // Shortens nothing.
  limiter_->refund(1, at(0s));  // Nor does this.
  expect_denied(1, at(29'999ms), 1ms);
  EXPECT_EQ(limiter_->peek(1, at(30s)).remaining, 10U);
  EXPECT_TRUE(limiter_->try_acquire(10, at(30s)));
}

TEST_F(LimiterTest, BlocksAfterARefusalWhereTheLimitSaysSo) {
  Limit limit = bucket(10, 10);
  limit.block_for = 60s;
  open(limit);
  drain();
  EXPECT_EQ(limiter_->decide(1, at(10s)).retry_after, 50s);  // Not prolonged by hits.
  EXPECT_TRUE(limiter_->try_acquire(1, at(60s)));
}

TEST_F(LimiterTest, OverdraftIsAlwaysAllowedAndRepaidLater) {
  Limit limit = bucket(10, 10);
  limit.overdraft = true;
  open(limit);
  EXPECT_TRUE(limiter_->try_acquire(25, at(0s)));
  EXPECT_EQ(limiter_->peek(1, at(0s)).retry_after, 1600ms);
  EXPECT_TRUE(limiter_->acquire(1));
}

TEST_F(LimiterTest, CountsRefusedHitsWhereTheLimitSaysSo) {
  open({.algorithm = Algorithm::sliding_window, .requests = 10, .count_denied = true});
  drain();
  for (int i = 0; i < 10; ++i) limiter_->try_acquire(1, at(0s));
  EXPECT_FALSE(limiter_->try_acquire(1, at(1400ms)));  // 20 or so weigh on the next window.
}

TEST_F(LimiterTest, KeepsTokensWhenTheBurstChanges) {
  open(bucket(1, 100));
  EXPECT_TRUE(limiter_->try_acquire(50));
  ASSERT_TRUE(limiter_->set_limit(bucket(1, 10)));
  EXPECT_EQ(limiter_->peek().remaining, 10U);
  ASSERT_TRUE(limiter_->set_limit(bucket(1, 100)));
  EXPECT_EQ(limiter_->peek().remaining, 10U);
  clock_.advance(5s);
  EXPECT_EQ(limiter_->peek().remaining, 15U);
  ASSERT_TRUE(limiter_->set_limit(bucket(1, 200)));
  EXPECT_EQ(limiter_->peek().remaining, 15U);
}

TEST_F(LimiterTest, RefillsAtTheNewRateFromTheChangeOn) {
  open(bucket(10, 10));
  drain();
  clock_.advance(500ms);
  ASSERT_TRUE(limiter_->set_limit(bucket(1, 10)));
  EXPECT_EQ(limiter_->peek().remaining, 5U);
  clock_.advance(1s);
  EXPECT_EQ(limiter_->peek().remaining, 6U);
}

TEST_F(LimiterTest, StartsAtRestUnderAnotherAlgorithmOrPeriod) {
  open(bucket(10, 10));
  drain();
  ASSERT_TRUE(limiter_->set_limit(bucket(10, 10, 60s)));
  EXPECT_EQ(limiter_->peek().remaining, 10U);
  drain();
  ASSERT_TRUE(limiter_->set_limit({.requests = 3}));
  EXPECT_EQ(limiter_->peek().remaining, 3U);
}

TEST_F(LimiterTest, KeepsTheDebtOverALimitOfZero) {
  open(bucket(10, 10));
  limiter_->charge(20);
  ASSERT_TRUE(limiter_->set_limit(bucket(0, 0)));
  EXPECT_EQ(limiter_->decide().retry_after, kNever);
  EXPECT_FALSE(limiter_->try_acquire());
  ASSERT_TRUE(limiter_->set_limit(bucket(10, 10)));
  EXPECT_EQ(limiter_->decide().retry_after, 1100ms);
}

TEST_F(LimiterTest, KeepsALogsHitsWhenItsLimitGrows) {
  open({.algorithm = Algorithm::sliding_log, .requests = 3});
  drain();
  ASSERT_TRUE(limiter_->set_limit({.algorithm = Algorithm::sliding_log, .requests = 50}));
  EXPECT_EQ(limiter_->peek().remaining, 47U);
  ASSERT_TRUE(limiter_->set_limit({.algorithm = Algorithm::sliding_log, .requests = 2}));
  EXPECT_EQ(limiter_->peek().remaining, 0U);
}

TEST_F(LimiterTest, RefusesAnInvalidChangeAndKeepsWhatItHad) {
  open(bucket(10, 10));
  EXPECT_FALSE(limiter_->set_limit(bucket(10, 10, 0s)));
  EXPECT_FALSE(limiter_->set_limit({.algorithm = Algorithm::concurrency, .requests = 1}));
  EXPECT_EQ(limiter_->limit(), bucket(10, 10));
}

TEST_F(LimiterTest, ResetForgetsEverything) {
  open(bucket(10, 10));
  limiter_->charge(100);
  limiter_->block(1h);
  limiter_->reset();
  EXPECT_TRUE(limiter_->try_acquire(10));
}

// Threads.

TEST_F(LimiterTest, AdmitsExactlyTheBurstToEightThreads) {
  open(bucket(10, 100'000));
  constexpr int kTriesPerThread = 1'000'000;
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      int own = 0;
      for (int i = 0; i < kTriesPerThread; ++i) own += limiter_->try_acquire(1, at(0s));
      admitted += own;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, 100'000);
}

TEST_F(LimiterTest, ANoOpChangeUnderLoadMintsNothing) {
  open(bucket(10, 10));
  std::atomic<bool> is_over{false};
  std::atomic<int> admitted{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!is_over) admitted += limiter_->try_acquire();
    });
  }
  for (int ms = 0; ms < 10'000; ++ms) {
    EXPECT_TRUE(limiter_->set_limit(bucket(10, 10)));
    clock_.advance(1ms);
  }
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(admitted, 110);
}

TEST_F(LimiterTest, AlternatingChangesUnderLoadMintNothing) {
  open(bucket(10, 10));
  std::atomic<bool> is_over{false};
  std::atomic<int> admitted{0};
  std::thread taker([&] {
    while (!is_over) admitted += limiter_->try_acquire();
  });
  for (int ms = 0; ms < 5'000; ++ms) {
    EXPECT_TRUE(limiter_->set_limit(ms % 2 == 0 ? bucket(7, 10) : bucket(10, 9)));
    clock_.advance(1ms);
    (void)limiter_->limit();
    (void)limiter_->peek();
  }
  is_over = true;
  taker.join();
  EXPECT_LE(admitted, 60);
}

TEST_F(LimiterTest, NoWindowHoldsMoreThanBurstAndRate) {
  open(bucket(10, 10));
  std::mt19937 random(22);
  std::exponential_distribution<double> gap(15.0);
  std::vector<double> admitted;
  double now = 0;
  for (int i = 0; i < 100'000; ++i) {
    now += gap(random);
    if (limiter_->try_acquire(1, Instant{static_cast<std::int64_t>(now * 1e9)})) {
      admitted.push_back(now);
    }
  }
  // By the linear form: index - rate * time may nowhere rise by more than the burst.
  double lowest = 0;
  for (std::size_t i = 0; i < admitted.size(); ++i) {
    const double level = static_cast<double>(i) - 10 * admitted[i];
    lowest = std::min(lowest, level);
    ASSERT_LE(level + 1 - lowest, 10 + 1e-6);
  }
}

TEST(Limiter, LivesOnTheSystemClock) {
  const SystemClock clock;
  const auto limiter = Limiter::open(bucket(1, 2, 1h), clock).value();
  EXPECT_TRUE(limiter->try_acquire());
  EXPECT_TRUE(limiter->acquire());
  EXPECT_FALSE(limiter->try_acquire());
  EXPECT_EQ(limiter->acquire(1, clock.now() + 50ms).outcome, AcquireOutcome::deadline);
}

}  // namespace
}  // namespace sluice
