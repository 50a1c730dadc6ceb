#include "base/duration_text.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;

TEST(ParseDuration, ReadsEachUnitAndSums) {
  const std::pair<const char*, Duration> cases[] = {
      {"0", 0ns},       {"99999999ns", 99'999'999ns},
      {"250us", 250us}, {"100ms", 100ms},
      {"5.1s", 5100ms}, {"1m30s", 90s},
      {"2h", 2h},       {"30d", 720h},
      {"0.5ms", 500us}, {"1d2h3m4s5ms6us7ns", 93'784'005'006'007ns}};
  for (const auto& [text, duration] : cases) {
    const Result<Duration> read = parse_duration(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(*read, duration) << text;
  }
}

TEST(ParseDuration, RefusesWhatIsNotADuration) {
  for (const char* text :
       {"", "5", "s", "-1s", "+1s", "1 s", "1s ", "1S", "1.s", ".s", "1.5.5s", "1s1m", "1s1s",
        "0.5ns", "1e3s", "99999999999d", "99999999999999999999s", "106751d1d", "1week"}) {
    EXPECT_FALSE(parse_duration(text).has_value()) << text;
  }
}

TEST(FormatDuration, WritesWhatParseDurationReads) {
  for (const Duration duration : {0ns, 1ns, 90'000'000'000ns, 93'784'005'006'007ns}) {
    EXPECT_EQ(*parse_duration(format_duration(duration)), duration);
  }
  EXPECT_EQ(format_duration(90s), "1m30s");
}

}  // namespace
}  // namespace sluice
