// What is counted, under which names, and that callers cannot make names.
#include "engine_fixture.h"

namespace sluice::test {
namespace {

constexpr std::string_view kRules = R"(
domain: test
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 2}
  - key: free
    rate_limit: {unlimited: true}
  - key: plan
    value: gold
    rate_limit: {unit: minute, requests_per_unit: 9}
  - key: plan
    value: silver
    rate_limit: {unit: minute, requests_per_unit: 5}
  - key: detailed
    detailed_metric: true
    rate_limit: {unit: minute, requests_per_unit: 5}
  - key: route
    value_to_metric: true
    descriptors:
      - key: method
        rate_limit: {unit: minute, requests_per_unit: 5}
)";

TEST(EngineMetrics, ARequestCountsOnceAndEachOfItsLimitsOnce) {
  EngineUnderTest test{kRules};
  test.take({"user=u", "plan=gold"});
  test.take({"user=u"}, 2);
  const DomainMetrics domain = test.domain_metrics();
  EXPECT_EQ(domain.requests[static_cast<std::size_t>(Verdict::allowed)], 1U);
  EXPECT_EQ(domain.requests[static_cast<std::size_t>(Verdict::denied)], 1U);
  EXPECT_EQ(domain.unmatched, 0U);
  const RuleMetrics user = test.rule_metrics("user");
  EXPECT_EQ(count_of(user, DecisionKind::allowed), 1U);
  EXPECT_EQ(count_of(user, DecisionKind::denied), 1U);
  EXPECT_EQ(user.hits, 3U);
  EXPECT_EQ(user.limit, 2U);
  EXPECT_EQ(count_of(test.rule_metrics("plan"), DecisionKind::allowed), 1U);
}

TEST(EngineMetrics, ALimitThatAllowedCountsAsAllowedThoughAnotherRefused) {
  EngineUnderTest test{kRules};
  test.take({"user=u"}, 2);
  test.take({"user=u", "plan=gold"});
  EXPECT_EQ(count_of(test.rule_metrics("user"), DecisionKind::denied), 1U);
  EXPECT_EQ(count_of(test.rule_metrics("plan"), DecisionKind::allowed), 1U);
}

TEST(EngineMetrics, WhatMatchesNothingCountsOnlyAsUnmatched) {
  EngineUnderTest test{kRules};
  test.take({"unheard_of=x"});
  for (const char* domain : {"a", "b", "c"}) test.ask(Operation::take, {"user=u"}, 1, domain);
  EXPECT_EQ(test.domain_metrics().unmatched, 1U);
  EXPECT_EQ(test.domain_metrics().requests, (std::array<std::uint64_t, 4>{}));
  const EngineMetrics metrics = test.engine->metrics();
  EXPECT_EQ(metrics.unmatched_unknown_domain, 3U);
  for (const DomainMetrics& each : metrics.domains) {
    EXPECT_EQ(each.domain, "test");
  }
}

TEST(EngineMetrics, AskingAndGivingBackAreNotDecisions) {
  EngineUnderTest test{kRules};
  test.peek({"user=u"});
  test.refund({"user=u"});
  test.take({Ask{"user=u"}.giving_back(1)});
  EXPECT_EQ(count_of(test.rule_metrics("user"), DecisionKind::allowed), 0U);
  EXPECT_EQ(test.rule_metrics("user").hits, 0U);
}

TEST(EngineMetrics, AnUnlimitedRuleCountsItsRequests) {
  EngineUnderTest test{kRules};
  test.take({"free=x"}, 5);
  EXPECT_EQ(count_of(test.rule_metrics("free"), DecisionKind::allowed), 1U);
  EXPECT_EQ(test.rule_metrics("free").hits, 5U);
  EXPECT_FALSE(test.rule_metrics("free").limit.has_value());
}

TEST(EngineMetrics, TokensAreTheLeastRemainingSinceTheLastLook) {
  EngineUnderTest test{kRules};
  EXPECT_FALSE(test.rule_metrics("user").tokens.has_value());
  test.take({"user=u"}, 2);
  test.take({"user=other"});
  EXPECT_EQ(test.rule_metrics("user").tokens, 0U);
  test.take({"user=third"});
  EXPECT_EQ(test.rule_metrics("user").tokens, 1U);
}

TEST(EngineMetrics, CountsOutliveReloads) {
  EngineUnderTest test{kRules};
  test.take({"user=u"});
  test.load("domain: elsewhere\n");
  EXPECT_EQ(count_of(test.rule_metrics("user"), DecisionKind::allowed), 1U);
  EXPECT_FALSE(test.rule_metrics("user").limit.has_value()) << "no longer in force";
  test.load(kRules);
  test.take({"user=u"});
  EXPECT_EQ(count_of(test.rule_metrics("user"), DecisionKind::allowed), 2U);
}

TEST(EngineMetrics, ValuesShowWhereTheRuleAsks) {
  EngineUnderTest test{kRules};
  test.take({"detailed=x"});
  test.take({"route=draw / method=GET"});
  EXPECT_EQ(count_of(test.rule_metrics("detailed=x"), DecisionKind::allowed), 1U);
  EXPECT_EQ(count_of(test.rule_metrics("route=draw/method"), DecisionKind::allowed), 1U);
}

TEST(EngineMetrics, NeitherValuesNorLimitsInRequestsMakeSeries) {  // MET 231
  EngineUnderTest test{kRules};
  const std::size_t before = test.engine->metrics().rules.size();
  for (int i = 0; i < 2000; ++i) {
    const std::string value = "user=" + std::to_string(i);
    test.take({value});
    test.take({Ask{value}.with_limit(static_cast<std::uint32_t>(i), 1min, "minute")});
    test.take({Ask{"made_up" + std::to_string(i) + "=x"}.with_limit(1, 1min, "minute")});
  }
  EXPECT_EQ(test.engine->metrics().rules.size(), before);
  const RuleMetrics overrides = test.rule_metrics("~override");
  EXPECT_EQ(count_of(overrides, DecisionKind::allowed) + count_of(overrides, DecisionKind::denied),
            4000U);
}

TEST(EngineMetrics, DetailedSeriesAreCappedAndTheRestIsCountedTogether) {  // MET 231
  EngineOptions options;
  options.detailed_series_max = 10;
  EngineUnderTest test{kRules, Instant{0}, options};
  const std::size_t before = test.engine->metrics().rules.size();
  for (int i = 0; i < 100; ++i) test.take({"detailed=" + std::to_string(i)});
  EXPECT_EQ(test.engine->metrics().rules.size(), before + 10 + 1);
  EXPECT_EQ(count_of(test.rule_metrics("~other", "~other"), DecisionKind::allowed), 90U);
  test.take({"detailed=3"});
  EXPECT_EQ(count_of(test.rule_metrics("detailed=3"), DecisionKind::allowed), 2U);
}

TEST(EngineMetrics, ShadowCountsDoNotDependOnWhoAnswered) {  // MET 233
  EngineUnderTest test{R"(
domain: test
descriptors:
  - key: k
    shadow_mode: true
    rate_limit: {unit: minute, requests_per_unit: 10}
)"};
  for (int i = 0; i < 100; ++i) test.take({"k=x"});
  EXPECT_EQ(count_of(test.rule_metrics("k"), DecisionKind::allowed), 10U);
  EXPECT_EQ(count_of(test.rule_metrics("k"), DecisionKind::shadow_denied), 90U);
}

TEST(EngineMetrics, TheLimitShownIsTheOneInForce) {  // MET 235
  EngineUnderTest test{kRules};
  test.load(R"(
domain: test
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 77}
)");
  EXPECT_EQ(test.rule_metrics("user").limit, 77U);
}

TEST(EngineMetrics, OneRequestInSoManyIsTimed) {
  EngineUnderTest test{kRules};
  for (std::uint32_t i = 0; i < 3 * kLatencySampling; ++i) test.peek({"user=u"});
  std::uint64_t timed = 0;
  for (const std::uint64_t count : test.engine->metrics().latency.counts) timed += count;
  EXPECT_EQ(timed, 3U);
}

TEST(EngineMetrics, TheTableIsCounted) {
  EngineOptions options;
  options.table.keys_max = 1000;  // Few enough to be counted one by one.
  EngineUnderTest test{kRules, Instant{0}, options};
  for (int i = 0; i < 50; ++i) test.take({"user=" + std::to_string(i)});
  EXPECT_EQ(test.engine->metrics().table_keys, 50U);
  test.clock.advance(1h);
  EXPECT_EQ(test.engine->metrics().table_keys, 0U);
}

}  // namespace
}  // namespace sluice::test
