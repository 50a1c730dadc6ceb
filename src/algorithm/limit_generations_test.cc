#include "sluice/algorithm/limit_generations.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

Limit bucket(std::uint32_t requests, std::uint32_t burst) {
  return {.algorithm = Algorithm::token_bucket, .requests = requests, .burst = burst};
}

TEST(LimitGenerations, GivesEqualNumbersEqualGenerations) {
  LimitGenerations generations;
  const auto first = generations.make_plan(bucket(10, 10));
  Limit renamed = bucket(10, 10);
  renamed.block_for = std::chrono::seconds{5};
  EXPECT_EQ(generations.make_plan(renamed)->generation, first->generation);
  EXPECT_NE(generations.make_plan(bucket(10, 11))->generation, first->generation);
  EXPECT_EQ(generations.find(first->generation)->limit.burst, 10U);
}

TEST(LimitGenerations, AreForBucketsAlone) {
  LimitGenerations generations;
  EXPECT_EQ(generations.make_plan({.requests = 10})->generation, 0U);
  EXPECT_EQ(generations.make_plan(bucket(0, 10))->generation, 0U);
  EXPECT_EQ(generations.find(0), nullptr);
  EXPECT_EQ(generations.find(1), nullptr);
  EXPECT_EQ(generations.find(UINT32_MAX), nullptr);
}

TEST(LimitGenerations, RefuseWhatIsNoLimit) {
  LimitGenerations generations;
  const auto plan = generations.make_plan({.requests = 1, .period = Duration{1}});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::invalid_argument);
}

TEST(LimitGenerations, AreOverloadedWhenFullAndKeepWhatTheyKnow) {
  LimitGenerations generations;
  for (std::uint32_t i = 1; i <= kGenerationsMax; ++i) {
    ASSERT_TRUE(generations.make_plan(bucket(i, i)));
  }
  const auto refused = generations.make_plan(bucket(1, 2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::overloaded);
  EXPECT_EQ(generations.make_plan(bucket(77, 77))->generation, 77U);
  EXPECT_EQ(generations.find(kGenerationsMax)->limit.requests, kGenerationsMax);
}

TEST(LimitGenerations, AreReadWhileOthersAreAdded) {
  LimitGenerations generations;
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (std::uint32_t i = 1; i <= 3000; ++i) {
        const auto plan = generations.make_plan(bucket(i, i));
        const LimitPlan* found = generations.find(plan->generation);
        ASSERT_NE(found, nullptr);
        ASSERT_EQ(found->limit.requests, i);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace sluice
