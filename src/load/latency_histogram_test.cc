#include "load/latency_histogram.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::load {
namespace {

using namespace std::chrono_literals;

TEST(LatencyHistogram, SaysZeroWhenNothingWasRecorded) {
  const LatencyHistogram histogram;
  EXPECT_EQ(histogram.percentile(0.99), 0ns);
  EXPECT_EQ(histogram.min(), 0ns);
  EXPECT_EQ(histogram.max(), 0ns);
  EXPECT_EQ(histogram.mean(), 0ns);
}

TEST(LatencyHistogram, IsExactBelowItsFirstRow) {
  LatencyHistogram histogram;
  for (int i = 1; i <= 100; ++i) histogram.record(Duration{i});
  EXPECT_EQ(histogram.percentile(0.5), 50ns);
  EXPECT_EQ(histogram.percentile(0.99), 99ns);
  EXPECT_EQ(histogram.percentile(1), 100ns);
  EXPECT_EQ(histogram.percentile(0), 1ns);
  EXPECT_EQ(histogram.mean(), 51ns);  // 50.5, rounded.
}

TEST(LatencyHistogram, StaysWithinOnePercentOfTheTruth) {
  std::mt19937_64 random{7};
  std::lognormal_distribution<double> shape{12, 3};
  LatencyHistogram histogram;
  std::vector<std::int64_t> values;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(static_cast<std::int64_t>(std::min(shape(random), 3.0e12)));
    histogram.record(Duration{values.back()});
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::max(1.0, share * 100'000 + 0.5));
    const auto truth = static_cast<double>(values[std::min<std::size_t>(rank, 100'000) - 1]);
    const auto told = static_cast<double>(histogram.percentile(share).count());
    EXPECT_GE(told, truth * 0.999) << share;
    EXPECT_LE(told, truth * 1.01 + 1) << share;
  }
}

TEST(LatencyHistogram, TakesAnyValue) {
  LatencyHistogram histogram;
  histogram.record(-5ns);
  histogram.record(Duration::max());
  EXPECT_EQ(histogram.min(), 0ns);
  EXPECT_EQ(histogram.max(), Duration::max());
  EXPECT_GE(histogram.percentile(1), 3600s);
}

}  // namespace
}  // namespace sluice::load
