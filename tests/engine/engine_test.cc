// What the engine makes of its rules beyond envoyproxy/ratelimit's cases: several limits on one
// descriptor, the limit that decides, operations, bounds on input, the kill switch, keys.
#include "engine_fixture.h"

namespace sluice::test {
namespace {

constexpr std::string_view kRules = R"(
domain: test
descriptors:
  - key: user
    rate_limit: {unit: minute, requests_per_unit: 10}
  - key: tenant
    rate_limit: {unit: hour, requests_per_unit: 20}
  - key: both
    rate_limits:
      - {unit: second, requests_per_unit: 2}
      - {unit: minute, requests_per_unit: 3}
  - key: bucket
    rate_limit: {unit: second, requests_per_unit: 1, algorithm: token_bucket, burst: 5}
  - key: shaped
    rate_limit: {unit: second, requests_per_unit: 10, algorithm: leaky_bucket, burst: 5}
  - key: listed
    value: free
  - key: special
    rate_limit: {unit: minute, requests_per_unit: 3}
  - key: group
    rate_limit: {unit: minute, requests_per_unit: 10}
)";

TEST(Engine, AllLimitsOfADescriptorHaveToAllow) {
  EngineUnderTest test{kRules, Instant{0}};
  EXPECT_EQ(test.take({"both=x"}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({"both=x"}).descriptors[0].decision.remaining, 0U);
  const OwnedAnswer per_second = test.take({"both=x"});
  EXPECT_EQ(per_second.verdict, Verdict::denied);
  EXPECT_EQ(per_second.descriptors[0].limit->period, 1s);
  test.clock.advance(1s);
  const OwnedAnswer last = test.take({"both=x"});
  EXPECT_EQ(last.verdict, Verdict::allowed);
  EXPECT_EQ(last.descriptors[0].limit->period, 1min) << "0 remain of it, 1 of the other";
  const OwnedAnswer per_minute = test.take({"both=x"});
  EXPECT_EQ(per_minute.descriptors[0].limit->period, 1min);
  EXPECT_EQ(per_minute.descriptors[0].decision.retry_after, 59s);
}

TEST(Engine, TheSmallestRemainingDescribesAPass) {
  EngineUnderTest test{kRules};
  test.take({Ask{"tenant=t"}.with_hits(18)});
  const OwnedAnswer answer = test.take({"user=u", "tenant=t"});
  EXPECT_EQ(answer.deciding, 1U);
  EXPECT_EQ(answer.descriptors[1].decision.remaining, 1U);
}

TEST(Engine, AtEqualRemainingTheLongestResetDescribesAPass) {
  EngineUnderTest test{kRules};
  test.take({Ask{"tenant=t"}.with_hits(10)});
  EXPECT_EQ(test.take({"user=u", "tenant=t"}).deciding, 1U);
  EXPECT_EQ(test.take({"tenant=t", "user=u"}).deciding, 0U);
}

TEST(Engine, TheLongestWaitDescribesARefusal) {  // F02
  EngineUnderTest test{kRules};
  test.take({Ask{"user=u"}.with_hits(10)});
  test.take({Ask{"tenant=t"}.with_hits(20)});
  const OwnedAnswer answer = test.take({"user=u", "tenant=t", "bucket=b"});
  EXPECT_EQ(answer.verdict, Verdict::denied);
  EXPECT_EQ(answer.deciding, 1U);
}

TEST(Engine, ARefusalWithoutEndGoesBeforeEveryWait) {  // F03
  EngineUnderTest test{kRules};
  test.take({Ask{"tenant=t"}.with_hits(20)});
  const OwnedAnswer answer = test.take({"tenant=t", Ask{"bucket=b"}.with_hits(6)});
  EXPECT_EQ(answer.verdict, Verdict::denied);
  EXPECT_EQ(answer.deciding, 1U);
  EXPECT_EQ(answer.descriptors[1].decision.retry_after, kNever);
}

TEST(Engine, ARefusedRequestChargesNoWiderLimit) {  // PART 137
  EngineUnderTest test{kRules};
  for (int i = 0; i < 5; ++i) test.take({"group=g", "special=s"});
  EXPECT_EQ(test.left("group=g"), 7U);
}

TEST(Engine, AUserKeepsTheQuotaOfRequestsThatTheTenantRefused) {  // PART 143
  EngineUnderTest test{kRules};
  test.take({Ask{"tenant=full"}.with_hits(20)});
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(test.take({"user=u", "tenant=full"}).verdict, Verdict::denied);
  }
  EXPECT_EQ(test.left("user=u"), 10U);
  EXPECT_EQ(test.take({"user=u", "tenant=other"}).verdict, Verdict::allowed);
}

TEST(Engine, RetryingWhileRefusedDoesNotProlongTheWait) {  // PART 145
  EngineUnderTest test{R"(
domain: test
descriptors:
  - key: k
    rate_limit: {unit: hour, requests_per_unit: 1, algorithm: token_bucket}
)",
                       Instant{0}};
  EXPECT_EQ(test.take({"k=x"}).verdict, Verdict::allowed);
  test.clock.advance(45min);
  EXPECT_EQ(test.take({"k=x"}).verdict, Verdict::denied);
  test.clock.advance(15min);
  EXPECT_EQ(test.take({"k=x"}).verdict, Verdict::allowed);
}

TEST(Engine, TheSameKeyTwiceInARequestIsChargedTwice) {
  EngineUnderTest test{kRules};
  EXPECT_EQ(test.take({Ask{"user=u"}.with_hits(4), Ask{"user=u"}.with_hits(4)}).verdict,
            Verdict::allowed);
  EXPECT_EQ(test.left("user=u"), 2U);
  EXPECT_EQ(test.take({Ask{"user=u"}.with_hits(1), Ask{"user=u"}.with_hits(2)}).verdict,
            Verdict::denied);
  EXPECT_EQ(test.left("user=u"), 2U);
}

TEST(Engine, APeekChargesNothing) {
  EngineUnderTest test{kRules};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(test.peek({"user=u"}, 10).verdict, Verdict::allowed);
  EXPECT_EQ(test.peek({"user=u"}, 11).verdict, Verdict::denied);
  EXPECT_EQ(test.left("user=u"), 10U);
}

TEST(Engine, ARefundGivesBackWhatEveryLimitWasCharged) {
  EngineUnderTest test{kRules};
  test.take({"user=u", "tenant=t"}, 5);
  EXPECT_EQ(test.refund({"user=u", "tenant=t"}, 3).verdict, Verdict::allowed);
  EXPECT_EQ(test.left("user=u"), 8U);
  EXPECT_EQ(test.left("tenant=t"), 18U);
}

TEST(Engine, RefundsOfARequestAreMadeBeforeItsTakesAreDecided) {
  EngineUnderTest test{kRules};
  test.take({Ask{"user=u"}.with_hits(10)});
  const OwnedAnswer answer = test.take({"user=u", Ask{"user=u"}.giving_back(1)});
  EXPECT_EQ(answer.verdict, Verdict::allowed);
  EXPECT_EQ(test.left("user=u"), 0U);
}

TEST(Engine, ARefundIsMadeAlsoWhenTheTakeBesideItIsRefused) {
  EngineUnderTest test{kRules};
  test.take({Ask{"user=u"}.with_hits(10)});
  EXPECT_EQ(test.take({Ask{"user=u"}.with_hits(4), Ask{"user=u"}.giving_back(2)}).verdict,
            Verdict::denied);
  EXPECT_EQ(test.left("user=u"), 2U);
}

TEST(Engine, ALeakyBucketSaysHowLongToHoldTheRequest) {
  EngineUnderTest test{kRules};
  EXPECT_EQ(test.take({"shaped=x"}).delay, 0ms);
  EXPECT_EQ(test.take({"shaped=x"}).delay, 100ms);
  EXPECT_EQ(test.take({"shaped=x", "user=u"}).delay, 200ms);
}

TEST(Engine, ADescriptorWithoutALimitIsUnmatched) {
  EngineUnderTest test{kRules};
  const OwnedAnswer answer = test.take({"listed=free"});
  EXPECT_EQ(answer.verdict, Verdict::allowed);
  EXPECT_EQ(answer.deciding, std::nullopt);
  EXPECT_EQ(test.domain_metrics().unmatched, 1U);
}

TEST(Engine, ValuesThatLookAlikeWhenJoinedAreDifferentKeys) {
  EngineUnderTest test{R"(
domain: test
descriptors:
  - key: a
    descriptors:
      - key: b
        rate_limit: {unit: minute, requests_per_unit: 1}
)"};
  EXPECT_EQ(test.take({"a=x / b=yz"}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({"a=xy / b=z"}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({"a=x / b=yz"}).verdict, Verdict::denied);
}

TEST(Engine, AnyBytesMayStandInAValue) {
  EngineUnderTest test{kRules};
  const std::string odd{"user=\0\xff\n\r", 9};
  EXPECT_EQ(test.take({Ask{odd}.with_hits(10)}).verdict, Verdict::allowed);
  EXPECT_EQ(test.take({Ask{odd}}).verdict, Verdict::denied);
  EXPECT_EQ(test.take({Ask{std::string{"user=\0\xff\n", 8}}}).verdict, Verdict::allowed);
}

TEST(Engine, ADeadlineThatHasPassedLeavesTheRequestUndecidedAndUncharged) {
  EngineUnderTest test{kRules};
  OwnedRequest request{"test", {"user=u"}};
  request.get().deadline = test.clock.now();
  const OwnedAnswer answer = test.engine->check(request.get());
  EXPECT_EQ(answer.verdict, Verdict::undecided);
  ASSERT_TRUE(answer.error.has_value());
  EXPECT_EQ(answer.error->code, ErrorCode::timeout);
  EXPECT_EQ(answer.deciding, 0U) << "the rule that is silent";
  EXPECT_EQ(test.left("user=u"), 10U);
}

void expect_invalid(EngineUnderTest& test, const Request& request, std::string_view message) {
  const OwnedAnswer answer = test.engine->check(request);
  EXPECT_EQ(answer.verdict, Verdict::undecided);
  ASSERT_TRUE(answer.error.has_value());
  EXPECT_EQ(answer.error->code, ErrorCode::invalid_argument);
  EXPECT_EQ(answer.error->message, message);
}

TEST(Engine, ARequestThatMakesNoSenseIsInvalidAndSaysWhere) {
  EngineUnderTest test{kRules};
  OwnedRequest no_domain{"", {"user=u"}};
  expect_invalid(test, no_domain.get(), "domain: must not be empty");
  OwnedRequest no_descriptors{"test", {}};
  expect_invalid(test, no_descriptors.get(), "descriptors: must not be empty");
  OwnedRequest bad_limit{"test", {Ask{"user=u"}, Ask{"user=u"}.with_limit(1, 0ms, "")}};
  expect_invalid(test, bad_limit.get(),
                 "descriptors[1].limit.period: must lie between 1ms and 10 years");
  expect_invalid(test, Request{.operation = Operation::release}, "permit: must not be empty");
}

TEST(Engine, WhatIsBeyondABoundIsInvalidAndSaysWhichBound) {
  EngineOptions options;
  options.bounds = {.descriptors_max = 2,
                    .entries_max = 2,
                    .key_bytes_max = 6,
                    .value_bytes_max = 5,
                    .domain_bytes_max = 4};
  EngineUnderTest test{kRules, Instant{0}, options};
  EXPECT_EQ(test.take({"user=12345", "user=2 / user=3"}).verdict, Verdict::allowed);
  OwnedRequest domain{"tests", {"user=u"}};
  expect_invalid(test, domain.get(), "domain: more than 4 bytes");
  OwnedRequest descriptors{"test", {"user=1", "user=2", "user=3"}};
  expect_invalid(test, descriptors.get(), "descriptors: more than 2 of them");
  OwnedRequest entries{"test", {"user=1", "a=1 / b=2 / c=3"}};
  expect_invalid(test, entries.get(), "descriptors[1]: more than 2 entries");
  OwnedRequest key{"test", {"user=1 / 1234567=1"}};
  expect_invalid(test, key.get(), "descriptors[0].entries[1].key: more than 6 bytes");
  OwnedRequest value{"test", {"user=123456"}};
  expect_invalid(test, value.get(), "descriptors[0].entries[0].value: more than 5 bytes");
}

TEST(Engine, AKilledRuleAllowsAndCountsWhatItWouldHaveRefused) {
  EngineUnderTest test{kRules};
  test.take({"special=s"}, 3);
  EXPECT_EQ(test.take({"special=s"}).verdict, Verdict::denied);
  ASSERT_TRUE(test.engine->set_kill_switch("test", "special", true).has_value());
  EXPECT_EQ(test.take({"special=s"}).verdict, Verdict::allowed);
  EXPECT_EQ(count_of(test.rule_metrics("special"), DecisionKind::shadow_denied), 1U);
  ASSERT_EQ(test.engine->kill_switches().size(), 1U);
  EXPECT_EQ(test.engine->kill_switches()[0].rule, "special");
  ASSERT_TRUE(test.engine->set_kill_switch("test", "special", false).has_value());
  EXPECT_EQ(test.take({"special=s"}).verdict, Verdict::denied);
  EXPECT_TRUE(test.engine->kill_switches().empty());
}

TEST(Engine, AKillSwitchStaysOnOverAReload) {
  EngineUnderTest test{kRules};
  ASSERT_TRUE(test.engine->set_kill_switch("test", "special", true).has_value());
  test.load(kRules);
  EXPECT_EQ(test.take({"special=s"}, 4).verdict, Verdict::allowed);
  test.load("domain: other\n");
  EXPECT_TRUE(test.engine->set_kill_switch("test", "special", false).has_value())
      << "also when its rule is gone";
}

TEST(Engine, AKillSwitchNeedsARule) {
  EngineUnderTest test{kRules};
  const Result<void> set = test.engine->set_kill_switch("test", "unheard_of", true);
  ASSERT_FALSE(set.has_value());
  EXPECT_EQ(set.error().code, ErrorCode::not_found);
}

TEST(Engine, AKeyCanBeLookedAtAndReset) {
  EngineUnderTest test{kRules};
  test.take({"both=x"}, 2);
  const Entry entry{"both", "x"};
  const auto views = test.engine->look_at_key("test", {&entry, 1});
  ASSERT_TRUE(views.has_value());
  ASSERT_EQ(views->size(), 2U);
  EXPECT_EQ((*views)[0].decision.remaining, 0U);
  EXPECT_EQ((*views)[0].decision.verdict, Verdict::denied);
  EXPECT_EQ((*views)[1].decision.remaining, 1U);
  const auto known = test.engine->reset_key("test", {&entry, 1});
  ASSERT_TRUE(known.has_value());
  EXPECT_EQ(*known, 2U);
  EXPECT_EQ(test.left("both=x"), 2U);
  EXPECT_EQ(*test.engine->reset_key("test", {&entry, 1}), 0U);
}

TEST(Engine, AKeyOfNoRuleIsNotFound) {
  EngineUnderTest test{kRules};
  const Entry entry{"unheard_of", "x"};
  EXPECT_EQ(test.engine->look_at_key("test", {&entry, 1}).error().code, ErrorCode::not_found);
  EXPECT_EQ(test.engine->reset_key("nowhere", {&entry, 1}).error().code, ErrorCode::not_found);
}

TEST(Engine, ADomainThatNobodyKnowsIsToldOnceASecond) {
  std::vector<std::string> told;
  EngineOptions options;
  options.on_unknown_domain = [&told](std::string_view domain) { told.emplace_back(domain); };
  EngineUnderTest test{kRules, Instant{1'000'000'000}, options};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(test.ask(Operation::take, {"user=u"}, 1, "tset").verdict, Verdict::allowed);
  }
  EXPECT_EQ(told, std::vector<std::string>{"tset"});
  test.clock.advance(1s);
  test.ask(Operation::take, {"user=u"}, 1, "tests");
  EXPECT_EQ(told.size(), 2U);
}

TEST(Engine, NeedsALane) {
  EngineOptions options;
  options.lanes = 0;
  const auto engine = Engine::open(options);
  ASSERT_FALSE(engine.has_value());
  EXPECT_EQ(engine.error().code, ErrorCode::invalid_argument);
}

TEST(Engine, WithoutRulesAllowsEverything) {
  FakeClock clock;
  EngineOptions options;
  options.clock = &clock;
  const auto engine = Engine::open(options);
  ASSERT_TRUE(engine.has_value());
  OwnedRequest request{"test", {"user=u"}};
  EXPECT_EQ((*engine)->check(request.get()).verdict, Verdict::allowed);
}

}  // namespace
}  // namespace sluice::test
