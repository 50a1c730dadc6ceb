// Reloads: what is counted stays, what changed is converted, what is bad changes nothing.
#include "engine_fixture.h"

namespace sluice::test {
namespace {

std::string rule(std::string_view numbers) {
  return "domain: test\ndescriptors:\n  - key: k\n    rate_limit: {" + std::string{numbers} + "}\n";
}

constexpr std::string_view kBucket10 =
    "unit: second, requests_per_unit: 10, algorithm: token_bucket, burst: 10";

TEST(EngineReload, AnUnchangedRuleKeepsItsCount) {  // RLD 173, 175
  for (const std::string_view numbers :
       {kBucket10, std::string_view{"unit: second, requests_per_unit: 10"},
        std::string_view{"unit: second, requests_per_unit: 10, algorithm: sliding_window"}}) {
    EngineUnderTest test{rule(numbers)};
    test.take({"k=x"}, 10);
    for (int i = 0; i < 100; ++i) {
      test.load(rule(numbers));
      EXPECT_EQ(test.take({"k=x"}).verdict, Verdict::denied) << numbers;
    }
  }
}

TEST(EngineReload, RulesAroundItMayChange) {
  EngineUnderTest test{rule(kBucket10)};
  test.take({"k=x"}, 10);
  test.load(R"(
domain: other
descriptors:
  - key: a
    rate_limit: {unit: second, requests_per_unit: 1}
  - key: b
    rate_limit: {unit: second, requests_per_unit: 2}
)");
  EXPECT_EQ(test.take({"k=x"}).verdict, Verdict::allowed) << "no rule";
  test.load(rule(kBucket10));
  EXPECT_EQ(test.take({"k=x"}).verdict, Verdict::denied) << "removed and added again, still over";
}

TEST(EngineReload, ARaisedLimitReplacesTheOldOne) {  // RLD 179
  EngineUnderTest test{rule("unit: minute, requests_per_unit: 10"), Instant{0}};
  test.take({"k=x"}, 10);
  test.load(rule("unit: minute, requests_per_unit: 20"));
  EXPECT_EQ(test.left("k=x"), 10U);
  EXPECT_EQ(test.take({"k=x"}, 10).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({"k=x"}).verdict, Verdict::denied);
}

TEST(EngineReload, AFasterBucketIsNotStricterThanEither) {  // RLD 181
  EngineUnderTest test{
      rule("period: 20s, requests_per_unit: 10, algorithm: token_bucket, burst: 10"), Instant{0}};
  test.take({"k=x"}, 5);
  test.load(rule("period: 20s, requests_per_unit: 1000, algorithm: token_bucket, burst: 1000"));
  EXPECT_EQ(test.take({"k=x"}, 5).verdict, Verdict::allowed);
}

TEST(EngineReload, ALoweredBurstClampsAndRaisedAgainGivesNothingAtOnce) {  // E02
  EngineUnderTest test{
      rule("unit: second, requests_per_unit: 10, algorithm: token_bucket, burst: 100"), Instant{0}};
  test.take({"k=x"}, 50);
  test.load(rule(kBucket10));
  EXPECT_EQ(test.take({"k=x"}, 0).descriptors[0].decision.remaining, 10U);
  test.take({"k=x"}, 1);
  test.load(rule("unit: second, requests_per_unit: 10, algorithm: token_bucket, burst: 100"));
  EXPECT_EQ(test.left("k=x"), 9U);
}

TEST(EngineReload, AChangedPeriodStartsAtRest) {  // RLD 183
  EngineUnderTest test{rule("unit: hour, requests_per_unit: 10"), Instant{0}};
  test.take({"k=x"}, 10);
  test.load(rule("unit: minute, requests_per_unit: 10"));
  const OwnedAnswer answer = test.take({"k=x"});
  EXPECT_EQ(answer.verdict, Verdict::allowed);
  EXPECT_EQ(answer.descriptors[0].decision.reset_after, 1min);
}

TEST(EngineReload, AChangedAlgorithmStartsAtRest) {
  constexpr std::array<std::string_view, 6> kAlgorithms{
      "unit: minute, requests_per_unit: 3",
      "unit: minute, requests_per_unit: 3, algorithm: sliding_window",
      "unit: minute, requests_per_unit: 3, algorithm: sliding_window, sub_windows: 6",
      "unit: minute, requests_per_unit: 3, algorithm: sliding_log",
      "unit: minute, requests_per_unit: 3, algorithm: token_bucket",
      "requests_per_unit: 3, algorithm: concurrency"};
  EngineUnderTest test{rule(kAlgorithms[0]), Instant{0}};
  for (const std::string_view numbers : kAlgorithms) {
    test.load(rule(numbers));
    EXPECT_EQ(test.take({"k=x"}, 3).verdict, Verdict::allowed) << numbers;
    EXPECT_EQ(test.take({"k=x"}).verdict, Verdict::denied) << numbers;
  }
  for (const std::string_view numbers : kAlgorithms) {
    test.load(rule(numbers));
    EXPECT_EQ(test.take({"k=x"}).verdict, Verdict::denied) << "still over: " << numbers;
  }
}

TEST(EngineReload, EachRuleUsesItsOwnNumbers) {  // RLD 187
  EngineUnderTest test{R"(
domain: test
descriptors:
  - key: a
    rate_limit: {unit: minute, requests_per_unit: 1}
  - key: b
    rate_limit: {unit: minute, requests_per_unit: 2}
)"};
  test.load(R"(
domain: test
descriptors:
  - key: b
    rate_limit: {unit: minute, requests_per_unit: 3}
  - key: a
    rate_limit: {unit: minute, requests_per_unit: 1}
)");
  EXPECT_EQ(test.take({"a=x"}).descriptors[0].decision.limit, 1U);
  EXPECT_EQ(test.take({"b=x"}).descriptors[0].decision.limit, 3U);
}

TEST(EngineReload, TooManyDifferentLimitsChangeNothingAndAreCounted) {  // RLD 177
  EngineUnderTest test{rule(kBucket10)};
  test.take({"k=x"}, 10);
  RuleSetBuilder builder;
  const std::uint32_t domain = builder.add_domain("test");
  std::vector<std::string> keys;
  for (std::uint32_t i = 0; i < 70'000; ++i) keys.push_back("key" + std::to_string(i));
  for (std::uint32_t i = 0; i < 70'000; ++i) {
    RuleLimit own;
    own.limit = {.algorithm = Algorithm::token_bucket, .requests = i + 1, .burst = i + 1};
    RuleDraft draft;
    draft.key = keys[i];
    draft.limits = {own};
    builder.add_node(domain, draft);
  }
  std::vector<Problem> problems;
  const auto rules = std::make_shared<const RuleSet>(builder.build(problems));
  ASSERT_TRUE(problems.empty());
  const Result<void> replaced = test.engine->replace_rules(rules);
  ASSERT_FALSE(replaced.has_value());
  EXPECT_EQ(replaced.error().code, ErrorCode::overloaded);
  EXPECT_EQ(test.take({"k=x"}).verdict, Verdict::denied) << "the old rules hold";
  test.engine->count_failed_reload();
  const EngineMetrics metrics = test.engine->metrics();
  EXPECT_EQ(metrics.reloads_ok, 1U);
  EXPECT_EQ(metrics.reloads_failed, 2U);
}

TEST(EngineReload, TheRulesInForceCanBeRead) {
  EngineUnderTest test{rule(kBucket10)};
  ASSERT_EQ(test.engine->rules()->domains().size(), 1U);
  EXPECT_EQ(test.engine->rules()->domains()[0].name, "test");
}

}  // namespace
}  // namespace sluice::test
