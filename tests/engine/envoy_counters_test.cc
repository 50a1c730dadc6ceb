// Group C of envoyproxy/ratelimit's cases: the arithmetic of one counter, through the engine.
// Where the original charges what it refuses, the rule says count_denied.
#include "engine_fixture.h"

namespace sluice::test {
namespace {

struct CounterCase {
  const char* name;
  std::uint32_t requests;
  const char* unit;
  std::int64_t at_seconds;
  Cost before;
  Cost hits;
  Verdict verdict;
  std::uint32_t remaining;
  Duration reset;
};

void PrintTo(const CounterCase& each, std::ostream* out) {
  *out << each.name;
}

std::string rule_of(const CounterCase& each, bool count_denied) {
  return "domain: test\ndescriptors:\n  - key: k\n    rate_limit: {unit: " +
         std::string{each.unit} + ", requests_per_unit: " + std::to_string(each.requests) +
         (count_denied ? ", count_denied: true" : "") + "}\n";
}

class CountsAsTheOriginal : public testing::TestWithParam<CounterCase> {};

TEST_P(CountsAsTheOriginal, WhenRefusedHitsAreCounted) {
  const CounterCase& each = GetParam();
  EngineUnderTest test{rule_of(each, true), Instant{each.at_seconds * 1'000'000'000}};
  if (each.before > 0) test.take({Ask{"k=v"}.with_hits(each.before)});
  const OwnedAnswer answer = test.take({Ask{"k=v"}.with_hits(each.hits)});
  EXPECT_EQ(answer.verdict, each.verdict);
  ASSERT_EQ(answer.descriptors.size(), 1U);
  EXPECT_EQ(answer.descriptors[0].decision.remaining, each.remaining);
  EXPECT_EQ(answer.descriptors[0].decision.reset_after, each.reset);
  EXPECT_EQ(answer.descriptors[0].decision.limit, each.requests);
}

constexpr Verdict kAllowed = Verdict::allowed;
constexpr Verdict kDenied = Verdict::denied;

// C3 differs on purpose: a cost of 0 asks for nothing and is allowed, also when the limit is over.
INSTANTIATE_TEST_SUITE_P(
    GroupC, CountsAsTheOriginal,
    testing::Values(CounterCase{"C2", 10, "minute", 1234, 10, 1, kDenied, 0, 26s},
                    CounterCase{"C3", 10, "hour", 1'000'000, 11, 0, kAllowed, 0, 800s},
                    CounterCase{"C5", 15, "hour", 1'000'000, 10, 1, kAllowed, 4, 800s},
                    CounterCase{"C6", 15, "hour", 1'000'000, 12, 1, kAllowed, 2, 800s},
                    CounterCase{"C8", 20, "second", 1234, 2, 3, kAllowed, 15, 1s},
                    CounterCase{"C9", 8, "second", 1234, 5, 2, kAllowed, 1, 1s},
                    CounterCase{"C11", 20, "second", 1234, 19, 3, kDenied, 0, 1s},
                    CounterCase{"C12", 20, "second", 1234, 15, 7, kDenied, 0, 1s},
                    CounterCase{"C14", 5, "second", 1234, 2, 5, kDenied, 0, 1s},
                    CounterCase{"C15", 10, "second", 1234, 2, 4, kAllowed, 4, 1s},
                    CounterCase{"C17", 10, "second", 1234, 11, 1, kDenied, 0, 1s},
                    CounterCase{"C18", 5, "minute", 1234, 5, 0, kAllowed, 0, 26s},
                    CounterCase{"C20", 0, "second", 1234, 0, 1, kDenied, 0, 1s},
                    CounterCase{"C26", 10, "week", 1'000'000, 0, 1, kAllowed, 9, 209'600s},
                    CounterCase{"C27Month", 10, "month", 1'000'000, 0, 1, kAllowed, 9, 1'592'000s},
                    CounterCase{"C27Year", 10, "year", 1'000'000, 0, 1, kAllowed, 9, 30'536'000s}),
    [](const auto& each) { return each.param.name; });

constexpr std::string_view kTwoRules = R"(
domain: test
descriptors:
  - key: a
    rate_limit: {unit: minute, requests_per_unit: 10}
  - key: b
    rate_limit: {unit: minute, requests_per_unit: 10}
  - key: none
    rate_limit: {unit: second, requests_per_unit: 0}
)";

TEST(EnvoyCounters, ARefusedHitIsNotChargedUnlessTheRuleSaysSo) {
  EngineUnderTest test{kTwoRules, Instant{1234'000'000'000}};
  EXPECT_EQ(test.take({Ask{"a=v"}.with_hits(8)}).verdict, Verdict::allowed);
  const OwnedAnswer refused = test.take({Ask{"a=v"}.with_hits(3)});
  EXPECT_EQ(refused.verdict, Verdict::denied);
  EXPECT_EQ(refused.descriptors[0].decision.remaining, 2U);
  EXPECT_EQ(refused.descriptors[0].decision.retry_after, 26s);
  EXPECT_EQ(test.take({Ask{"a=v"}.with_hits(2)}).verdict, Verdict::allowed);
}

TEST(EnvoyCounters, ADescriptorsOwnHitsStandInForTheRequests) {
  EngineUnderTest test{kTwoRules};
  const OwnedAnswer answer = test.take({"a=v", Ask{"b=v"}.with_hits(0)}, 5);
  EXPECT_EQ(answer.verdict, Verdict::allowed);
  EXPECT_EQ(answer.descriptors[0].decision.remaining, 5U);
  EXPECT_EQ(answer.descriptors[1].decision.remaining, 10U);
}

TEST(EnvoyCounters, NothingIsAllowedAtALimitOfNoneButToAsk) {
  EngineUnderTest test{kTwoRules};
  const OwnedAnswer peeked = test.take({Ask{"none=v"}.with_hits(0)});
  EXPECT_EQ(peeked.verdict, Verdict::allowed);
  EXPECT_EQ(peeked.descriptors[0].decision.remaining, 0U);
  const OwnedAnswer refused = test.take({"none=v"});
  EXPECT_EQ(refused.verdict, Verdict::denied);
  EXPECT_EQ(refused.descriptors[0].decision.retry_after, kNever);
}

TEST(EnvoyCounters, GivingBackRaisesWhatRemains) {
  EngineUnderTest test{kTwoRules};
  EXPECT_EQ(test.take({Ask{"a=v"}.with_hits(5)}).descriptors[0].decision.remaining, 5U);
  const OwnedAnswer given = test.take({Ask{"a=v"}.giving_back(3)});
  EXPECT_EQ(given.verdict, Verdict::allowed);
  EXPECT_EQ(given.descriptors[0].decision.remaining, 8U);
  EXPECT_EQ(test.take({"a=v"}).descriptors[0].decision.remaining, 7U);
}

TEST(EnvoyCounters, GivingBackMoreThanWasTakenClampsAtFull) {
  EngineUnderTest test{kTwoRules};
  test.take({"a=v"});
  EXPECT_EQ(test.take({Ask{"a=v"}.giving_back(7)}).descriptors[0].decision.remaining, 10U);
}

TEST(EnvoyCounters, ARefundInTheNextWindowGivesNothing) {
  EngineUnderTest test{kTwoRules, Instant{1234'000'000'000}};
  test.take({Ask{"a=v"}.with_hits(5)});
  test.clock.advance(60s);
  EXPECT_EQ(test.take({Ask{"a=v"}.giving_back(5)}).descriptors[0].decision.remaining, 10U);
  EXPECT_EQ(test.left("a=v"), 10U);
}

}  // namespace
}  // namespace sluice::test
