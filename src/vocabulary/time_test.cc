#include "sluice/vocabulary/time.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Instant, SumsSaturateInsteadOfWrapping) {
  EXPECT_EQ(kInstantMax + Duration{1}, kInstantMax);
  EXPECT_EQ(Instant{-5} - kNever - kNever, Instant{std::numeric_limits<std::int64_t>::min()});
  EXPECT_EQ(kInstantMax - Instant{-1}, kNever);
}

}  // namespace
}  // namespace sluice
