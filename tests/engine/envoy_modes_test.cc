// Groups D and K of envoyproxy/ratelimit's cases: how the descriptors of one request combine, and
// B31 to B34: a limit that comes with the request.
#include "engine_fixture.h"

namespace sluice::test {
namespace {

constexpr std::string_view kModes = R"(
domain: test
descriptors:
  - key: plain
    rate_limit: {unit: minute, requests_per_unit: 10}
  - key: tight
    rate_limit: {unit: minute, requests_per_unit: 1}
  - key: free
    rate_limit: {unlimited: true}
  - key: shadow
    shadow_mode: true
    rate_limit: {unit: minute, requests_per_unit: 1}
  - key: quota
    quota_mode: true
    rate_limit: {unit: minute, requests_per_unit: 1}
  - key: quota_wide
    quota_mode: true
    rate_limit: {unit: minute, requests_per_unit: 10}
)";

TEST(EnvoyModes, UnmatchedAndUnlimitedDescriptorsSayNothing) {  // D2
  EngineUnderTest test{kModes};
  const OwnedAnswer answer = test.take({"other=x", "plain=x", "free=x"});
  EXPECT_EQ(answer.verdict, Verdict::allowed);
  EXPECT_EQ(answer.deciding, 1U);
  EXPECT_TRUE(answer.descriptors[0].rule.empty());
  EXPECT_EQ(answer.descriptors[1].decision.remaining, 9U);
  EXPECT_EQ(answer.descriptors[2].decision.remaining, 4'294'967'295U);
  EXPECT_FALSE(answer.descriptors[2].limit.has_value());
}

TEST(EnvoyModes, OnlyUnlimitedRulesGiveNoNumbers) {  // B10, E6
  EngineUnderTest test{kModes};
  const OwnedAnswer answer = test.take({"free=x"});
  EXPECT_EQ(answer.verdict, Verdict::allowed);
  EXPECT_EQ(answer.deciding, std::nullopt);
}

TEST(EnvoyModes, AShadowRuleShowsThatNothingRemainsAndAllows) {  // D3, K13
  EngineUnderTest test{kModes};
  for (int i = 0; i < 6; ++i) {
    const OwnedAnswer answer = test.take({"shadow=x"});
    EXPECT_EQ(answer.verdict, Verdict::allowed);
    EXPECT_EQ(answer.descriptors[0].decision.verdict, Verdict::allowed);
    EXPECT_EQ(answer.descriptors[0].decision.remaining, 0U);
    EXPECT_EQ(answer.descriptors[0].decision.limit, 1U);
  }
  EXPECT_EQ(count_of(test.rule_metrics("shadow"), DecisionKind::allowed), 1U);
  EXPECT_EQ(count_of(test.rule_metrics("shadow"), DecisionKind::shadow_denied), 5U);
}

TEST(EnvoyModes, AShadowRuleThatIsOverDescribesTheAnswer) {  // E7
  EngineUnderTest test{kModes};
  test.take({"shadow=x"});
  const OwnedAnswer answer = test.take({"plain=x", "shadow=x"});
  EXPECT_EQ(answer.verdict, Verdict::allowed);
  EXPECT_EQ(answer.deciding, 1U);
  EXPECT_EQ(test.left("plain=x"), 9U);
}

TEST(EnvoyModes, InShadowModeTheWholeIsAllowedAndTheDescriptorIsNot) {  // D5
  EngineOptions options;
  options.shadow_mode = true;
  EngineUnderTest test{kModes, Instant{0}, options};
  test.take({"tight=x"});
  const OwnedAnswer answer = test.take({"tight=x"});
  EXPECT_EQ(answer.verdict, Verdict::allowed);
  EXPECT_EQ(answer.descriptors[0].decision.verdict, Verdict::denied);
  EXPECT_EQ(count_of(test.rule_metrics("tight"), DecisionKind::shadow_denied), 1U);
}

TEST(EnvoyModes, APlainRefusalOutweighsAQuotaThatPasses) {  // D6
  EngineUnderTest test{kModes};
  test.take({"tight=x"});
  EXPECT_EQ(test.take({"tight=x", "quota=x"}).verdict, Verdict::denied);
  EXPECT_EQ(test.left("quota=x"), 1U);
}

TEST(EnvoyModes, APlainRuleAndAQuotaThatPassLetPass) {  // D8
  EngineUnderTest test{kModes};
  EXPECT_EQ(test.take({"plain=x", "quota=x"}).verdict, Verdict::allowed);
}

TEST(EnvoyModes, AQuotaRefusesWhenNoneOfThemPasses) {  // D9
  EngineUnderTest test{kModes};
  test.take({"quota=x"});
  test.take({"quota=y"});
  EXPECT_EQ(test.take({"quota=x"}).verdict, Verdict::denied);
  EXPECT_EQ(test.take({"quota=x", "quota=y"}).verdict, Verdict::denied);
  const OwnedAnswer one_passes = test.take({"quota=x", "quota_wide=x"});
  EXPECT_EQ(one_passes.verdict, Verdict::allowed);
  EXPECT_EQ(one_passes.descriptors[0].decision.verdict, Verdict::denied);
  EXPECT_EQ(one_passes.deciding, 1U);
}

TEST(EnvoyModes, TwoQuotasChargedByEachRequestPassUntilBothAreOver) {  // K17
  EngineUnderTest test{R"(
domain: test
descriptors:
  - key: service_1
    quota_mode: true
    rate_limit: {unit: minute, requests_per_unit: 1}
  - key: service_2
    quota_mode: true
    rate_limit: {unit: minute, requests_per_unit: 2}
)"};
  EXPECT_EQ(test.take({"service_1=x", "service_2=x"}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({"service_1=x", "service_2=x"}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({"service_1=x", "service_2=x"}).verdict, Verdict::denied);
}

TEST(EnvoyModes, InQuotaModeEveryRuleIsAQuota) {  // D11, D12
  EngineOptions options;
  options.quota_mode = true;
  EngineUnderTest test{kModes, Instant{0}, options};
  test.take({"tight=x"});
  test.take({"tight=y"});
  EXPECT_EQ(test.take({"tight=x", "tight=y"}).verdict, Verdict::denied);
  EXPECT_EQ(test.take({"tight=x", "plain=x"}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({"tight=x", "other=x"}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({"tight=x", "free=x"}).verdict, Verdict::allowed);
}

constexpr std::string_view kReplaces = R"(
domain: test
descriptors:
  - key: key_1
    value: value_1
    descriptors:
      - key: user
        value: bkthomps
        rate_limit: {unit: second, requests_per_unit: 5, name: L}
  - key: key_2
    value: value_2
    descriptors:
      - key: user
        value: bkthomps
        rate_limit: {unit: second, requests_per_unit: 10, replaces: [{name: L}]}
  - key: third
    rate_limit: {unit: second, requests_per_unit: 3, name: L2}
  - key: both
    rate_limit: {unit: second, requests_per_unit: 7, replaces: [{name: L}, {name: L2}]}
  - key: free
    rate_limit: {unlimited: true, replaces: [{name: L}]}
  - key: x
    rate_limit: {unit: second, requests_per_unit: 1, name: X, replaces: [{name: Y}]}
  - key: y
    rate_limit: {unit: second, requests_per_unit: 1, name: Y, replaces: [{name: X}]}
)";
constexpr const char* kA = "key_1=value_1 / user=bkthomps";
constexpr const char* kB = "key_2=value_2 / user=bkthomps";

TEST(EnvoyModes, ARuleReplacesAnotherOfTheSameRequest) {  // D14
  for (const bool is_first : {true, false}) {
    EngineUnderTest test{kReplaces};
    EXPECT_EQ(test.take({kA}).descriptors[0].decision.remaining, 4U);
    EXPECT_EQ(test.take({kB}).descriptors[0].decision.remaining, 9U);
    const OwnedAnswer answer = is_first ? test.take({kA, kB}) : test.take({kB, kA});
    EXPECT_TRUE(answer.descriptors[is_first ? 0 : 1].rule.empty());
    EXPECT_EQ(answer.descriptors[is_first ? 1 : 0].decision.remaining, 8U);
    EXPECT_EQ(test.left(kA), 4U);
  }
}

TEST(EnvoyModes, ARuleReplacesSeveral) {  // D15
  EngineUnderTest test{kReplaces};
  const OwnedAnswer answer = test.take({kA, "third=x", "both=x"});
  EXPECT_TRUE(answer.descriptors[0].rule.empty());
  EXPECT_TRUE(answer.descriptors[1].rule.empty());
  EXPECT_EQ(answer.descriptors[2].decision.remaining, 6U);
  EXPECT_EQ(test.left("third=x"), 3U);
}

TEST(EnvoyModes, AnUnlimitedRuleReplacesToo) {  // D17
  EngineUnderTest test{kReplaces};
  EXPECT_TRUE(test.take({kA, "free=x"}).descriptors[0].rule.empty());
  EXPECT_EQ(test.left(kA), 5U);
}

TEST(EnvoyModes, RulesThatReplaceEachOtherAreBothDropped) {  // D18
  EngineUnderTest test{kReplaces};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(test.take({"x=1", "y=1"}).verdict, Verdict::allowed);
  EXPECT_EQ(test.left("x=1"), 1U);
  EXPECT_EQ(test.domain_metrics().unmatched, 0U);
}

TEST(EnvoyModes, ABanIsReplacedForThoseWhoMayPass) {  // K14
  EngineUnderTest test{R"(
domain: test
descriptors:
  - key: foo
    descriptors:
      - key: bar
        value: banned
        rate_limit: {unit: minute, requests_per_unit: 0, name: banned_limit}
  - key: source_cluster
    value: proxy
    descriptors:
      - key: destination_cluster
        value: override
        rate_limit: {unit: minute, requests_per_unit: 2, replaces: [{name: banned_limit}]}
)"};
  const char* const banned = "foo=1 / bar=banned";
  const char* const passes = "source_cluster=proxy / destination_cluster=override";
  EXPECT_EQ(test.take({banned}).verdict, Verdict::denied);
  EXPECT_EQ(test.take({banned, passes}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({banned, passes}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({banned, passes}).verdict, Verdict::denied);
  EXPECT_EQ(test.take({banned, "source_cluster=proxy / destination_cluster=mock"}).verdict,
            Verdict::denied);
}

TEST(EnvoyModes, AReplacedRuleKeepsItsOwnCount) {  // K16
  EngineUnderTest test{R"(
domain: test
descriptors:
  - key: category
    value: account
    rate_limit: {unit: minute, requests_per_unit: 4, replaces: [{name: bkthomps}, {name: fake}]}
  - key: proxy
    rate_limit: {unit: minute, requests_per_unit: 2, name: fake}
)"};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(test.take({"category=account", "proxy=x"}).verdict, Verdict::allowed);
  }
  EXPECT_EQ(test.take({"category=account", "proxy=x"}).verdict, Verdict::denied);
  EXPECT_EQ(test.take({"proxy=x"}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({"proxy=x"}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({"proxy=x"}).verdict, Verdict::denied);
}

TEST(EnvoyModes, ALimitInTheRequestHoldsInsteadOfTheRules) {  // B31
  EngineUnderTest test{R"(
domain: test
descriptors:
  - key: key1
    value: value1
    descriptors:
      - key: subkey1
        rate_limit: {unit: second, requests_per_unit: 5}
)"};
  const Ask plain{"key1=value1 / subkey1=something"};
  const Ask own = plain.with_limit(10, 24h, "day");
  const OwnedAnswer answer = test.take({own});
  EXPECT_EQ(answer.descriptors[0].rule, "key1/subkey1");
  EXPECT_EQ(answer.descriptors[0].decision.limit, 10U);
  EXPECT_EQ(answer.descriptors[0].decision.remaining, 9U);
  EXPECT_EQ(answer.descriptors[0].limit->period, 24h);
  EXPECT_EQ(test.left(plain), 5U) << "the rule's own counter is not touched";
}

TEST(EnvoyModes, LimitsInRequestsOfDifferentUnitsCountApart) {
  EngineUnderTest test{kModes};
  const Ask per_day = Ask{"plain=x"}.with_limit(2, 24h, "day");
  const Ask per_hour = Ask{"plain=x"}.with_limit(1, 1h, "hour");
  EXPECT_EQ(test.take({per_day}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({per_hour}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({per_hour}).verdict, Verdict::denied);
  EXPECT_EQ(test.take({per_day}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({per_day}).verdict, Verdict::denied);
  EXPECT_EQ(test.take({Ask{"plain=y"}.with_limit(2, 24h, "day")}).verdict, Verdict::allowed);
}

TEST(EnvoyModes, ALimitInTheRequestNeedsNoRule) {
  EngineUnderTest test{kModes};
  const Ask own = Ask{"other=x"}.with_limit(1, 1min, "minute");
  EXPECT_EQ(test.take({own}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({own}).verdict, Verdict::denied);
}

TEST(EnvoyModes, ALimitForAnUnknownDomainHoldsNothing) {  // B33
  EngineUnderTest test{kModes};
  const Ask own = Ask{"plain=x"}.with_limit(0, 1min, "minute");
  const OwnedAnswer answer = test.ask(Operation::take, {own}, 1, "unheard_of");
  EXPECT_EQ(answer.verdict, Verdict::allowed);
  EXPECT_TRUE(answer.descriptors[0].rule.empty());
}

TEST(EnvoyModes, ALimitInTheRequestKnowsNoShadowQuotaNameOrReplacement) {  // B34
  EngineUnderTest test{R"(
domain: test
descriptors:
  - key: shadow
    shadow_mode: true
    rate_limit: {unit: minute, requests_per_unit: 9}
  - key: quota
    quota_mode: true
    rate_limit: {unit: minute, requests_per_unit: 9}
  - key: named
    rate_limit: {unit: minute, requests_per_unit: 9, name: N, replaces: [{name: M}]}
  - key: other
    rate_limit: {unit: minute, requests_per_unit: 9, name: M, replaces: [{name: N}]}
)"};
  const auto none = [](const char* entries) { return Ask{entries}.with_limit(0, 1min, "minute"); };
  EXPECT_EQ(test.take({none("shadow=x")}).verdict, Verdict::denied);
  EXPECT_EQ(test.take({none("quota=x"), "quota=y"}).verdict, Verdict::denied);
  EXPECT_EQ(test.take({none("named=x"), "other=x"}).verdict, Verdict::denied)
      << "not replaced by the other";
  EXPECT_EQ(test.take({Ask{"named=x"}.with_limit(5, 1min, "minute"), "other=x"})
                .descriptors[1]
                .decision.remaining,
            8U)
      << "replaces nothing itself";
}

TEST(EnvoyModes, ADescriptorWithoutEntriesMatchesNothing) {  // B36
  EngineUnderTest test{kModes};
  const OwnedAnswer answer = test.take({"", Ask{""}.with_limit(0, 1min, "minute")});
  EXPECT_EQ(answer.verdict, Verdict::allowed);
  EXPECT_TRUE(answer.descriptors[0].rule.empty());
  EXPECT_TRUE(answer.descriptors[1].rule.empty());
}

TEST(EnvoyModes, TheOthersKeepTheirCountWhenOneRefuses) {  // K4, and PART 137
  EngineUnderTest test{kModes};
  EXPECT_EQ(test.take({"plain=x", "tight=x"}).verdict, Verdict::allowed);
  for (int i = 0; i < 5; ++i) {
    const OwnedAnswer answer = test.take({"plain=x", "tight=x"});
    EXPECT_EQ(answer.verdict, Verdict::denied);
    EXPECT_EQ(answer.deciding, 1U);
    EXPECT_EQ(answer.descriptors[0].decision.verdict, Verdict::allowed);
  }
  EXPECT_EQ(test.left("plain=x"), 9U);
}

TEST(EnvoyModes, UnderChargeEachTheOthersAreChargedWhenOneRefuses) {  // K4 as the original has it
  EngineUnderTest test{R"(
domain: test
charge: each
descriptors:
  - key: plain
    rate_limit: {unit: minute, requests_per_unit: 10}
  - key: tight
    rate_limit: {unit: minute, requests_per_unit: 1}
)"};
  EXPECT_EQ(test.take({"plain=x", "tight=x"}).verdict, Verdict::allowed);
  for (std::uint32_t i = 0; i < 5; ++i) {
    const OwnedAnswer answer = test.take({"plain=x", "tight=x"});
    EXPECT_EQ(answer.verdict, Verdict::denied);
    EXPECT_EQ(answer.descriptors[0].decision.remaining, 8 - i);
  }
}

}  // namespace
}  // namespace sluice::test
