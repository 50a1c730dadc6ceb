#include "tests/conformance/case_file.h"

#include <gtest/gtest.h>

#include "tests/conformance/replay.h"

namespace sluice::conformance {
namespace {

using std::chrono::nanoseconds;

std::string error_of(const std::string& text) {
  const auto cases = parse_case_file("a.case", text);
  return cases ? "no error" : cases.error().message;
}

TEST(Duration, IsReadExactlyOrNotAtAll) {
  EXPECT_EQ(parse_duration("0"), Duration{0});
  EXPECT_EQ(parse_duration("99999999ns"), Duration{99'999'999});
  EXPECT_EQ(parse_duration("5.1s"), Duration{5'100'000'000});
  EXPECT_EQ(parse_duration("1m30s"), Duration{90'000'000'000});
  EXPECT_EQ(parse_duration("30d"), std::chrono::hours{720});
  for (const char* bad : {"", "1", "s", "5.s.", "1.5ns", "-1s", "1 s", "1y", "99999999d",
                          "99999999999999999999s", "0.0000000001s"}) {
    EXPECT_EQ(parse_duration(bad), std::nullopt) << bad;
  }
}

TEST(Duration, IsPrintedInTheLargestUnitThatDivides) {
  EXPECT_EQ(format_duration(Duration{0}), "0");
  EXPECT_EQ(format_duration(Duration{99'999'999}), "99999999ns");
  EXPECT_EQ(format_duration(std::chrono::milliseconds{100}), "100ms");
  EXPECT_EQ(format_duration(std::chrono::hours{48}), "2d");
  EXPECT_EQ(format_duration(kNever), "never");
}

TEST(CaseFile, IsReadWithItsCommentsKeysAndFields) {
  const auto cases = parse_case_file("a.case",
                                     "# nothing\n"
                                     "case two  words # and a comment\n"
                                     "limit algorithm=gcra requests=10 period=1s\n"
                                     "\n"
                                     "at 0 take 3 key=a -> allowed remaining=7 delay=0\r\n"
                                     "at 1s release p\n"
                                     "at 2s limit requests=5 unit=minute unit_multiplier=2\n");
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_EQ(cases->size(), 1U);
  const Case& read = cases->front();
  EXPECT_EQ(read.name, "two  words");
  EXPECT_EQ(read.limit.burst, 10U) << "a burst not given is the requests";
  ASSERT_EQ(read.steps.size(), 3U);
  EXPECT_EQ(read.steps[0].line, 5);
  EXPECT_EQ(read.steps[0].cost, 3U);
  EXPECT_EQ(read.steps[0].key, "a");
  EXPECT_EQ(read.steps[0].expected.remaining, 7U);
  EXPECT_EQ(read.steps[0].expected.retry, std::nullopt);
  EXPECT_EQ(read.steps[1].permit, "p");
  EXPECT_EQ(read.steps[2].limit.period, std::chrono::minutes{2});
}

TEST(CaseFile, NamesFileLineAndReasonOfWhatItCannotRead) {
  EXPECT_EQ(error_of("limit requests=1"), "a.case:1: expected `case NAME` first");
  EXPECT_EQ(error_of("case a\nat 0 take 1"), "a.case:2: a case needs a `limit` before its steps");
  EXPECT_EQ(error_of("case a\nlimit requests=1 perod=1s"),
            "a.case:2: no such key of a limit: `perod`");
  EXPECT_EQ(error_of("case a\nlimit requests=-1"), "a.case:2: bad value for requests: `-1`");
  EXPECT_EQ(error_of("case a\nlimit algorithm=magic"), "a.case:2: no such algorithm: `magic`");
  EXPECT_EQ(error_of("case a\nlimit requests=1 period=1us"),
            "a.case:2: period: must lie between 1ms and 10 years");
  const std::string begin = "case a\nlimit requests=1\n";
  EXPECT_EQ(error_of(begin + "at soon take 1"), "a.case:3: expected a time after `at`, got `soon`");
  EXPECT_EQ(error_of(begin + "at 0 grab 1"), "a.case:3: no such action: `grab`");
  EXPECT_EQ(error_of(begin + "at 0 take 1.5"), "a.case:3: not a cost: `1.5`");
  EXPECT_EQ(error_of(begin + "at 0 take -1"), "a.case:3: not a cost: `-1`");
  EXPECT_EQ(error_of(begin + "at 0 take 1 -> maybe"), "a.case:3: no such outcome: `maybe`");
  EXPECT_EQ(error_of(begin + "at 0 take 1 -> allowed left=1"), "a.case:3: no such field: `left`");
  EXPECT_EQ(error_of(begin + "at 0 take 1 -> allowed remaining=x"),
            "a.case:3: bad value: `remaining=x`");
  EXPECT_EQ(error_of(begin + "at 0 release"), "a.case:3: release needs a permit's name");
}

TEST(Replay, SaysWhatWasExpectedAndWhatCameInstead) {
  const auto cases = parse_case_file("a.case",
                                     "case c\n"
                                     "limit requests=2 period=1s\n"
                                     "at 0 take 2 -> allowed remaining=1\n"
                                     "at 0 take 1 -> allowed retry=5s remaining=0\n"
                                     "at 0 take 3 -> never\n");
  ASSERT_TRUE(cases) << cases.error().message;
  const auto subject = make_header_subject();
  EXPECT_EQ(replay(cases->front(), *subject),
            (std::vector<std::string>{
                "a.case:3: expected remaining=1, got remaining=0  (case c)",
                "a.case:4: expected allowed retry=5s, got denied retry=1s  (case c)"}));
}

TEST(Subject, OfAStoreThatIsNotThereIsAClearError) {
  EXPECT_TRUE(make_subject("memory"));
  const auto none = make_subject("valkey://127.0.0.1");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace sluice::conformance
