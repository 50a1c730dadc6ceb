#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/algorithm/sliding_window.h"
#include "sluice/algorithm/sub_windows.h"

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Instant at(Duration since_epoch) {
  return Instant{} + since_epoch;
}

TEST(WindowEnd, IsTheNextMultipleOfThePeriodInWallTime) {
  EXPECT_EQ(window_end(at(seconds{61}), minutes{1}, Duration{0}), at(minutes{2}));
  EXPECT_EQ(window_end(at(minutes{1}), minutes{1}, Duration{0}), at(minutes{2}));
  EXPECT_EQ(window_end(at(seconds{61}), minutes{1}, seconds{30}), at(seconds{90}));
  EXPECT_EQ(window_end(at(seconds{10}), minutes{1}, seconds{-20}), at(seconds{20}));
  EXPECT_EQ(window_end(kInstantMax, minutes{1}, Duration{0}), kInstantMax);
}

TEST(FixedWindow, OfTwoDaemonsStartedApartEndsAtTheSameMoment) {
  const LimitPlan plan = make_plan({.requests = 10, .period = minutes{1}});
  State early;
  State late;
  fixed_window::take(early, plan, 1, at(seconds{3}), Duration{0});
  fixed_window::take(late, plan, 1, at(seconds{10}), Duration{0});
  EXPECT_EQ(early.rest_at, late.rest_at);
}

TEST(FixedWindow, IsNeitherMovedNorReopenedByAStepOfTheWallClock) {
  const LimitPlan plan = make_plan({.requests = 5, .period = minutes{1}});
  for (const Duration step : {seconds{-60}, seconds{-7}, seconds{7}, seconds{60}}) {
    State state;
    ASSERT_TRUE(fixed_window::try_take(state, plan, 5, at(minutes{10}), Duration{0}));
    EXPECT_FALSE(fixed_window::try_take(state, plan, 1, at(minutes{10} + seconds{59}), step));
    EXPECT_TRUE(fixed_window::try_take(state, plan, 5, at(minutes{11}), step));
    EXPECT_EQ(state.rest_at, window_end(at(minutes{11}), minutes{1}, step)) << "aligned anew";
  }
}

TEST(FixedWindow, CountsUpToTheLargestNumberAndStopsThere) {
  Limit limit{.requests = UINT32_MAX, .period = seconds{10}, .count_denied = true};
  const LimitPlan plan = make_plan(limit);
  State state;
  EXPECT_EQ(fixed_window::take(state, plan, kCostMax, {0}, Duration{0}).verdict, Verdict::allowed);
  EXPECT_EQ(fixed_window::take(state, plan, kCostMax, {0}, Duration{0}).verdict, Verdict::denied);
  EXPECT_EQ(fixed_window::take(state, plan, UINT64_MAX, {0}, Duration{0}).retry_after, kNever);
  EXPECT_EQ(fixed_window::count(state, {0}), UINT32_MAX);
  EXPECT_FALSE(fixed_window::try_take(state, plan, UINT64_MAX, {0}, Duration{0}));
}

TEST(SlidingWindow, LeanFormAndDecisionAgree) {
  const LimitPlan plan =
      make_plan({.algorithm = Algorithm::sliding_window, .requests = 7, .period = seconds{1}});
  std::mt19937_64 random(3);
  State lean;
  State full;
  Instant now;
  for (int i = 0; i < 100'000; ++i) {
    now = now + Duration{static_cast<std::int64_t>(random() % 300'000'000)};
    const Cost cost = random() % 9;
    const Decision decision = sliding_window::take(full, plan, cost, now, Duration{0});
    ASSERT_EQ(sliding_window::wait(lean, plan, cost, now), decision.retry_after);
    ASSERT_EQ(sliding_window::try_take(lean, plan, cost, now, Duration{0}),
              decision.verdict == Verdict::allowed);
    ASSERT_EQ(lean.rest_at, full.rest_at);
    ASSERT_EQ(lean.payload, full.payload);
  }
}

TEST(SlidingWindow, KeepsItsWindowsInARowWhenTheWallClockSteps) {
  const LimitPlan plan =
      make_plan({.algorithm = Algorithm::sliding_window, .requests = 10, .period = seconds{10}});
  State state;
  ASSERT_TRUE(sliding_window::try_take(state, plan, 10, at(seconds{15}), Duration{0}));
  EXPECT_EQ(sliding_window::peek(state, plan, 1, at(seconds{25})).remaining, 5U);
  ASSERT_TRUE(sliding_window::try_take(state, plan, 5, at(seconds{25}), seconds{-60}));
  EXPECT_EQ(state.rest_at, at(seconds{40}));
}

TEST(Windows, SurviveHostileNumbers) {
  std::mt19937_64 random(42);
  const std::int64_t instants[] = {0, 1, -1, INT64_MIN, INT64_MAX, INT64_MAX - 1, 1'800'000'000};
  const Cost costs[] = {0, 1, 2, kCostMax, kCostMax + 1, UINT64_MAX};
  const std::uint32_t counts[] = {0, 1, 2, 3, 999'983, 1'000'000, UINT32_MAX};
  for (int i = 0; i < 200'000; ++i) {
    Limit limit{.algorithm = Algorithm::sliding_window,
                .requests = counts[random() % 7],
                .period = random() % 2 ? kPeriodMin : kPeriodMax,
                .count_denied = random() % 2 == 0,
                .overdraft = random() % 2 == 0};
    limit.sub_windows = random() % 2 ? 5 : 0;
    if (!validate_limit(limit)) continue;
    const LimitPlan plan = make_plan(limit);
    const Instant now{instants[random() % 7]};
    const Duration offset{instants[random() % 7]};
    const Cost cost = costs[random() % 6];
    std::vector<std::uint32_t> slices(6, UINT32_MAX);
    for (const bool is_sliding : {false, true}) {
      State state{{std::max<std::int64_t>(0, instants[random() % 7])}, random()};
      const auto decide = [&] {
        if (!is_sliding) return fixed_window::take(state, plan, cost, now, offset);
        if (limit.sub_windows == 0) return sliding_window::take(state, plan, cost, now, offset);
        return sub_windows::take(state, slices, plan, cost, now, offset);
      };
      const Decision decision = decide();
      ASSERT_GE(decision.retry_after, Duration{0});
      ASSERT_GE(decision.reset_after, Duration{0});
      ASSERT_LE(decision.remaining, decision.limit);
    }
  }
}

TEST(SubWindows, ReadsNothingFromMemoryThatWasNeverWritten) {
  const LimitPlan plan = make_plan({.algorithm = Algorithm::sliding_window,
                                    .requests = 10,
                                    .period = seconds{1},
                                    .sub_windows = 10});
  std::vector<std::uint32_t> slices(sub_windows::slices_of(plan), 0xdeadbeef);
  State state;
  EXPECT_EQ(sub_windows::peek(state, slices, plan, 1, at(milliseconds{50})).remaining, 10U);
  EXPECT_EQ(sub_windows::take(state, slices, plan, 4, at(milliseconds{50}), Duration{0}).remaining,
            6U);
}

TEST(SubWindows, AreAtMostSixtyThreeCacheLinesOfCounts) {
  const LimitPlan plan = make_plan({.algorithm = Algorithm::sliding_window,
                                    .requests = 10,
                                    .period = seconds{1},
                                    .sub_windows = kSubWindowsMax});
  EXPECT_LE(sub_windows::slices_of(plan) * sizeof(std::uint32_t), 63U * 64U);
}

}  // namespace
}  // namespace sluice
