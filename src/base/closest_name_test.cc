#include "base/closest_name.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

constexpr std::string_view kNames[] = {"rate_limit", "rate_limits", "requests_per_unit", "unit"};

TEST(ClosestName, FindsASlipOfTheFinger) {
  EXPECT_EQ(closest_name("ratelimit", kNames), "rate_limit");
  EXPECT_EQ(closest_name("requestsperunit", kNames), "requests_per_unit");
  EXPECT_EQ(closest_name("uint", kNames), "unit");
  EXPECT_EQ(closest_name("unit", kNames), "unit");
}

TEST(ClosestName, DoesNotGuessWhereTooMuchDiffers) {
  EXPECT_EQ(closest_name("x", kNames), "");
  EXPECT_EQ(closest_name("", kNames), "");
  EXPECT_EQ(closest_name("threshold", kNames), "");
  EXPECT_EQ(closest_name(std::string(100'000, 'a'), kNames), "");
}

}  // namespace
}  // namespace sluice
