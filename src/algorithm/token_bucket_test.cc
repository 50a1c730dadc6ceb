#include "sluice/algorithm/token_bucket.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/algorithm/leaky_bucket.h"

namespace sluice::token_bucket {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Limit bucket(std::uint32_t requests, Duration period, std::uint32_t burst) {
  return {
      .algorithm = Algorithm::token_bucket, .requests = requests, .period = period, .burst = burst};
}

TEST(TokenBucket, CountsSevenHundredMillionASecondExactly) {
  const LimitPlan plan = make_plan(bucket(700'000'000, seconds{1}, 1000));
  State state;
  int allowed = 0;
  for (std::int64_t ns = 0; ns < 1'000'000; ++ns) allowed += try_take(state, plan, 1, {ns}) ? 1 : 0;
  EXPECT_EQ(allowed, 700'999);
}

TEST(TokenBucket, AdmitsItsBurstAtOneInstantAtAnyUptime) {
  const LimitPlan plan = make_plan(bucket(1'000'000'000, seconds{1}, 100'000));
  for (const std::int64_t uptime_seconds : {0, 10'000'000, 100'000'000, 2'000'000'000}) {
    const Instant now = Instant{} + seconds{uptime_seconds};
    State state;
    int allowed = 0;
    for (int i = 0; i < 100'010; ++i) allowed += try_take(state, plan, 1, now) ? 1 : 0;
    EXPECT_EQ(allowed, 100'000) << uptime_seconds;
  }
}

TEST(TokenBucket, IsFullAfterAnyPauseAndNoMore) {
  const LimitPlan plan = make_plan(bucket(1'000'000, milliseconds{1}, 4'000'000'000));
  State state;
  ASSERT_TRUE(try_take(state, plan, 4'000'000'000, {1}));
  for (const Duration pause : {Duration{hours{12}}, Duration{hours{720}}, kPeriodMax}) {
    EXPECT_EQ(remaining(state, plan, Instant{1} + pause), 4'000'000'000U);
  }
}

TEST(TokenBucket, KeepsOneHitInTenYears) {
  const LimitPlan plan = make_plan(bucket(1, kPeriodMax, 1));
  State state;
  EXPECT_TRUE(try_take(state, plan, 1, {0}));
  EXPECT_EQ(wait(state, plan, 1, {1}), kPeriodMax - Duration{1});
  EXPECT_TRUE(try_take(state, plan, 1, Instant{} + kPeriodMax));
}

TEST(TokenBucket, WhoseBurstTakesLongerThanTenYearsToFillIsRefusedAtLoad) {
  EXPECT_FALSE(validate_limit(bucket(1, hours{24 * 365}, 4'294'967'295)));
  EXPECT_FALSE(validate_limit(bucket(1, seconds{86'400}, 200'000'000)));
}

TEST(TokenBucket, LeanFormAndDecisionAgree) {
  const LimitPlan plan = make_plan(bucket(7, seconds{3}, 5));
  std::mt19937_64 random(7);
  State lean;
  State full;
  Instant now;
  for (int i = 0; i < 100'000; ++i) {
    now = now + Duration{static_cast<std::int64_t>(random() % 1'000'000'000)};
    const Cost cost = random() % 7;
    const Duration before = wait(lean, plan, cost, now);
    const Decision decision = take(full, plan, cost, now);
    ASSERT_EQ(try_take(lean, plan, cost, now), decision.verdict == Verdict::allowed);
    ASSERT_EQ(before, decision.retry_after);
    ASSERT_EQ(lean.rest_at, full.rest_at);
    ASSERT_EQ(lean.payload, full.payload);
  }
}

TEST(TokenBucket, ADebtWithoutEndSaturatesAndNeverWraps) {
  Limit limit = bucket(1, kPeriodMax, 1);
  limit.overdraft = true;
  const LimitPlan plan = make_plan(limit);
  State state;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(take(state, plan, kCostMax, {i}).verdict, Verdict::allowed);
    EXPECT_EQ(state.rest_at, kInstantMax);
    EXPECT_EQ(peek(state, plan, 1, {i}).verdict, Verdict::denied);
    EXPECT_EQ(remaining(state, plan, {i}), 0U);
  }
  EXPECT_EQ(take(state, plan, kCostMax + 1, {9}).retry_after, kNever);
}

TEST(TokenBucket, SurvivesHostileNumbers) {
  std::mt19937_64 random(42);
  const std::int64_t instants[] = {0, 1, -1, INT64_MIN, INT64_MAX, INT64_MAX - 1, 1'800'000'000};
  const Cost costs[] = {0, 1, 2, kCostMax, kCostMax + 1, UINT64_MAX};
  const std::uint32_t counts[] = {0, 1, 2, 3, 999'983, 1'000'000, UINT32_MAX};
  for (int i = 0; i < 300'000; ++i) {
    Limit limit =
        bucket(counts[random() % 7], random() % 2 ? kPeriodMin : kPeriodMax, counts[random() % 7]);
    limit.overdraft = random() % 2 == 0;
    if (!validate_limit(limit)) continue;
    const LimitPlan plan = make_plan(limit);
    State state{{instants[random() % 7]}, random()};
    const Instant now{instants[random() % 7]};
    const Cost cost = costs[random() % 6];
    const Decision decision = take(state, plan, cost, now);
    ASSERT_GE(decision.retry_after, Duration{0});
    ASSERT_GE(decision.reset_after, Duration{0});
    ASSERT_LE(decision.remaining, decision.limit);
    refund(state, plan, cost, now);
    cancel(state, plan, reserve(state, plan, cost, now, kNever), now);
    ASSERT_LE(remaining(state, plan, now), plan.capacity);
  }
}

TEST(TokenBucket, TimeThatGoesBackIsHarmless) {
  const LimitPlan plan = make_plan(bucket(10, seconds{1}, 10));
  State state;
  const Instant ten = Instant{} + seconds{10};
  ASSERT_TRUE(try_take(state, plan, 10, ten));
  EXPECT_EQ(wait(state, plan, 1, Instant{} + seconds{5}), milliseconds{5100});
  EXPECT_EQ(wait(state, plan, 1, ten), milliseconds{100});
  EXPECT_TRUE(try_take(state, plan, 1, ten + milliseconds{100}));
}

TEST(TokenBucket, TwoClocksAMicrosecondApartAdmitNoMore) {
  const LimitPlan plan = make_plan(bucket(1000, seconds{1}, 10));
  State state;
  int allowed = 0;
  for (std::int64_t us = 0; us < 10'000'000; us += 7) {
    const Instant now{us * 1000 + (us % 2) * 1000};
    allowed += try_take(state, plan, 1, now) ? 1 : 0;
  }
  EXPECT_LE(allowed, 10'010);
  EXPECT_GE(allowed, 10'000);
}

TEST(TokenBucket, WithoutGenerationsKeepsTheStoredTimeUnderAnyNumbers) {
  const LimitPlan slow = make_plan(bucket(1, seconds{10}, 5));
  const LimitPlan fast = make_plan(bucket(3, seconds{1}, 5));
  State state;
  ASSERT_TRUE(try_take(state, slow, 5, {0}));
  EXPECT_EQ(reset_after(state, fast, {0}), seconds{50});
}

TEST(TokenBucket, ConvertsAndBackAtOneInstantToTheSameBalance) {
  LimitGenerations generations;
  std::mt19937_64 random(11);
  const LimitPlan few = *generations.make_plan(bucket(7, seconds{1}, 40));
  const LimitPlan many = *generations.make_plan(bucket(1'000'003, seconds{1}, 50));
  for (int i = 0; i < 100'000; ++i) {
    State state;
    const Instant now{static_cast<std::int64_t>(1 + random() % 1'000'000'000'000)};
    ASSERT_TRUE(try_take(state, few, 1 + random() % 40, now));
    const Instant later = now + Duration{static_cast<std::int64_t>(random() % 1'000'000'000)};
    const State there = current(state, many, later);
    const State back = current(there, few, later);
    ASSERT_EQ(remaining(there, many, later), remaining(state, few, later));
    ASSERT_EQ(remaining(back, few, later), remaining(state, few, later));
    ASSERT_GE(back.rest_at, state.is_at_rest(later) ? later : state.rest_at) << "nothing is minted";
  }
}

TEST(Reserve, GivesPlacesInOrderAndPutsLaterHitsOff) {
  const LimitPlan plan = make_plan(bucket(10, seconds{1}, 10));
  State state;
  ASSERT_TRUE(try_take(state, plan, 10, {0}));
  const Reservation first = reserve(state, plan, 5, {0}, kNever);
  const Reservation second = reserve(state, plan, 5, {0}, kNever);
  EXPECT_TRUE(first.is_granted);
  EXPECT_EQ(first.wait, milliseconds{500});
  EXPECT_EQ(second.ready_at, Instant{} + seconds{1});
  EXPECT_EQ(wait(state, plan, 1, {0}), milliseconds{1100});
}

TEST(Reserve, BeyondTheLongestWaitChargesNothingAndSaysHowLongItWouldBe) {
  const LimitPlan plan = make_plan(bucket(10, seconds{1}, 1));
  State state;
  ASSERT_TRUE(try_take(state, plan, 1, {0}));
  const Reservation refused = reserve(state, plan, 1, {0}, milliseconds{50});
  EXPECT_FALSE(refused.is_granted);
  EXPECT_EQ(refused.wait, milliseconds{100});
  EXPECT_EQ(wait(state, plan, 1, {0}), milliseconds{100});
  EXPECT_EQ(reserve(state, plan, 2, {0}, kNever).wait, kNever);
  EXPECT_FALSE(reserve(state, plan, 2, {0}, kNever).is_granted);
}

TEST(Cancel, OfTheNewestGivesItAllBack) {
  const LimitPlan plan = make_plan(bucket(7, seconds{1}, 10));
  State state;
  ASSERT_TRUE(try_take(state, plan, 10, {0}));
  const State before = state;
  const Reservation place = reserve(state, plan, 5, {0}, kNever);
  cancel(state, plan, place, {1});
  EXPECT_EQ(state.rest_at, before.rest_at);
  EXPECT_EQ(state.payload, before.payload);
}

TEST(Cancel, OfAnOlderOneGivesBackNothing) {
  const LimitPlan plan = make_plan(bucket(10, seconds{1}, 10));
  State state;
  ASSERT_TRUE(try_take(state, plan, 10, {0}));
  const Reservation first = reserve(state, plan, 10, {0}, kNever);
  const Reservation second = reserve(state, plan, 10, {0}, kNever);
  const State before = state;
  cancel(state, plan, first, {0});
  EXPECT_EQ(state.rest_at, before.rest_at) << "or twenty could act when the second's time comes";
  cancel(state, plan, second, {0});
  cancel(state, plan, first, {0});
  EXPECT_EQ(reset_after(state, plan, {0}), seconds{1}) << "newest first, all come back";
}

TEST(Cancel, AfterItsTimeOrUnderOtherNumbersGivesNothingBack) {
  LimitGenerations generations;
  const LimitPlan plan = *generations.make_plan(bucket(10, seconds{1}, 10));
  const LimitPlan other = *generations.make_plan(bucket(20, seconds{1}, 10));
  State state;
  ASSERT_TRUE(try_take(state, plan, 10, {0}));
  const Reservation place = reserve(state, plan, 5, {0}, kNever);
  const State before = state;
  cancel(state, other, place, {0});
  cancel(state, plan, place, place.ready_at);
  EXPECT_EQ(state.rest_at, before.rest_at);
  cancel(state, plan, place, place.ready_at - Duration{1});
  EXPECT_LT(state.rest_at, before.rest_at);
}

TEST(LeakyBucket, TellsEachHitItsTurn) {
  const LimitPlan plan = make_plan(
      {.algorithm = Algorithm::leaky_bucket, .requests = 3, .period = seconds{1}, .burst = 2});
  State state;
  EXPECT_EQ(leaky_bucket::take(state, plan, 1, {0}).delay, Duration{0});
  EXPECT_EQ(leaky_bucket::take(state, plan, 1, {0}).delay, Duration{333'333'334});
  EXPECT_EQ(leaky_bucket::take(state, plan, 1, {0}).delay, Duration{666'666'667});
  EXPECT_EQ(leaky_bucket::take(state, plan, 1, {0}).verdict, Verdict::denied);
}

TEST(LeakyBucket, OfTheMostWaitingPlacesStillCountsThem) {
  const LimitPlan plan = make_plan({.algorithm = Algorithm::leaky_bucket,
                                    .requests = 1'000'000,
                                    .period = milliseconds{1},
                                    .burst = UINT32_MAX});
  State state;
  EXPECT_EQ(leaky_bucket::take(state, plan, kCostMax, {0}).verdict, Verdict::allowed);
  EXPECT_EQ(leaky_bucket::take(state, plan, 1, {0}).retry_after, Duration{1});
}

}  // namespace
}  // namespace sluice::token_bucket
