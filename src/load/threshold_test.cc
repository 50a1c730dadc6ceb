#include "load/threshold.h"

#include <gtest/gtest.h>

namespace sluice::load {
namespace {

bool holds(std::string_view text, double actual) {
  const auto threshold = parse_threshold(text);
  EXPECT_TRUE(threshold.has_value()) << text;
  return threshold && threshold->holds_for(actual);
}

TEST(Threshold, ComparesWithEachOperator) {
  EXPECT_TRUE(holds("allowed==100", 100));
  EXPECT_FALSE(holds("allowed==100", 101));
  EXPECT_TRUE(holds("allowed != 100", 101));
  EXPECT_TRUE(holds("a<1", 0.5));
  EXPECT_FALSE(holds("a<1", 1));
  EXPECT_TRUE(holds("a<=1", 1));
  EXPECT_FALSE(holds("a > 1", 1));
  EXPECT_TRUE(holds("a>=1", 1));
}

TEST(Threshold, ReadsUnits) {
  EXPECT_EQ(parse_threshold("p99<5ms")->value, 5e6);
  EXPECT_EQ(parse_threshold("p50 <= 250 us")->value, 250e3);
  EXPECT_EQ(parse_threshold("max<1.5s")->value, 1.5e9);
  EXPECT_EQ(parse_threshold("error_rate<=1%")->value, 0.01);
  EXPECT_EQ(parse_threshold("p99<5ms")->unit, Threshold::Unit::nanoseconds);
  EXPECT_EQ(parse_threshold("allowed==1")->unit, Threshold::Unit::number);
}

TEST(Threshold, TakesNamesWithBrackets) {
  EXPECT_EQ(parse_threshold("status[503]==0")->name, "status[503]");
  EXPECT_EQ(parse_threshold("X-Instance-ID[a=b]>=3")->name, "X-Instance-ID[a=b]");
}

TEST(Threshold, RefusesWhatItCannotRead) {
  for (const char* text : {"", "allowed", "allowed=100", "==5", "allowed==", "allowed==x",
                           "allowed==1 apple", "p99<5minutes", "allowed==nan", "a<>1", "a[b"}) {
    EXPECT_FALSE(parse_threshold(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace sluice::load
