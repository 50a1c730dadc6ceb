#include "engine/lane_counters.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(LaneCounters, ABucketHoldsWhatIsNotAboveItsBound) {
  for (std::size_t bucket = 0; bucket + 1 < LatencyMetrics::kBuckets; ++bucket) {
    const auto bound = static_cast<std::uint64_t>(LatencyMetrics::upper_bound(bucket).count());
    EXPECT_EQ(LatencyCounters::bucket_of(bound), bucket);
    EXPECT_EQ(LatencyCounters::bucket_of(bound + 1), bucket + 1);
  }
  EXPECT_EQ(LatencyCounters::bucket_of(0), 0U);
  EXPECT_EQ(LatencyCounters::bucket_of(~std::uint64_t{0}), LatencyMetrics::kBuckets - 1);
}

TEST(LaneCounters, ACellIsThereOnceItWasCounted) {
  CellChunks<DomainCounters, 1000> chunks;
  EXPECT_EQ(chunks.find(999), nullptr);
  chunks.at(999).unmatched.add(3);
  ASSERT_NE(chunks.find(999), nullptr);
  EXPECT_EQ(chunks.find(999)->unmatched.value(), 3U);
  EXPECT_EQ(chunks.find(0), nullptr);
}

TEST(LaneCounters, TheLeastRemainingStartsAnewOnceTaken) {
  SeriesCounters cell;
  cell.lower(5);
  cell.lower(9);
  EXPECT_EQ(cell.take_least(), 5U);
  EXPECT_EQ(cell.take_least(), SeriesCounters::kNone);
}

}  // namespace
}  // namespace sluice
