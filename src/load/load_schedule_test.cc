#include "load/load_schedule.h"

#include <gtest/gtest.h>

namespace sluice::load {
namespace {

using namespace std::chrono_literals;

constexpr Instant kBegin{1'000'000'000'000};

LoadPlan plan_for(std::size_t targets) {
  LoadPlan plan;
  plan.targets.resize(targets);
  return plan;
}

TEST(LoadSchedule, StartsRequestsAtOnceInAClosedLoop) {
  LoadPlan plan = plan_for(1);
  plan.requests = 2;
  LoadSchedule schedule{plan};
  schedule.begin(kBegin);
  EXPECT_EQ(schedule.next_due(0), kInstantMax);
  EXPECT_EQ(schedule.take(0, kBegin)->number, 0u);
  EXPECT_EQ(schedule.take(0, kBegin + 5ms)->due, kBegin + 5ms);
  EXPECT_TRUE(schedule.is_over(kBegin + 5ms));
  EXPECT_FALSE(schedule.take(0, kBegin + 5ms).has_value());
  EXPECT_EQ(schedule.unsent(kBegin + 1h), 0u);
}

TEST(LoadSchedule, CountsLatencyFromTheInstantARequestWasDue) {
  LoadPlan plan = plan_for(1);
  plan.per_second = 1000;
  plan.duration = 1s;
  LoadSchedule schedule{plan};
  schedule.begin(kBegin);
  EXPECT_EQ(schedule.take(0, kBegin)->due, kBegin);
  EXPECT_EQ(schedule.next_due(0), kBegin + 1ms);
  EXPECT_FALSE(schedule.take(0, kBegin + 999us).has_value());
  const auto late = schedule.take(0, kBegin + 50ms);
  ASSERT_TRUE(late.has_value());
  EXPECT_EQ(late->due, kBegin + 1ms);
}

TEST(LoadSchedule, SharesRequestsEvenlyOverTargets) {
  LoadPlan plan = plan_for(2);
  plan.requests = 5;
  LoadSchedule schedule{plan};
  schedule.begin(kBegin);
  int of[2] = {0, 0};
  for (std::size_t target = 0; target < 2; ++target) {
    while (const auto start = schedule.take(target, kBegin)) {
      EXPECT_EQ(start->number % 2, target);
      ++of[target];
    }
  }
  EXPECT_EQ(of[0], 3);
  EXPECT_EQ(of[1], 2);
  EXPECT_TRUE(schedule.is_over(kBegin));
}

TEST(LoadSchedule, EndsWithItsDurationAndSaysWhatWasNeverSent) {
  LoadPlan plan = plan_for(1);
  plan.per_second = 100;
  plan.duration = 1s;
  LoadSchedule schedule{plan};
  schedule.begin(kBegin);
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(schedule.take(0, kBegin + 900ms).has_value());
  EXPECT_FALSE(schedule.is_over(kBegin + 999ms));
  EXPECT_TRUE(schedule.is_over(kBegin + 1s));
  EXPECT_FALSE(schedule.take(0, kBegin + 1s).has_value());
  EXPECT_EQ(schedule.unsent(kBegin + 2s), 70u);
}

TEST(LoadSchedule, StopsWhenTold) {
  LoadSchedule schedule{plan_for(1)};
  schedule.begin(kBegin);
  EXPECT_FALSE(schedule.is_over(kBegin));
  schedule.stop();
  EXPECT_TRUE(schedule.is_over(kBegin));
  EXPECT_FALSE(schedule.take(0, kBegin).has_value());
}

}  // namespace
}  // namespace sluice::load
