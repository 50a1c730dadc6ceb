// Permits: what a concurrency rule gives is released and renewed by its text alone.
#include "engine_fixture.h"

namespace sluice::test {
namespace {

constexpr std::string_view kRules = R"(
domain: test
descriptors:
  - key: job
    rate_limit: {requests_per_unit: 2, algorithm: concurrency, permit_ttl: 60s}
  - key: host
    rate_limit: {requests_per_unit: 3, algorithm: concurrency, permit_ttl: 30s}
  - key: rate
    rate_limit: {unit: minute, requests_per_unit: 1}
  - key: shadow
    shadow_mode: true
    rate_limit: {requests_per_unit: 1, algorithm: concurrency}
)";

TEST(EnginePermit, IsGivenWithAPassAndGivenBack) {
  EngineUnderTest test{kRules};
  const std::string permit = test.take({"job=x"}).permit;
  EXPECT_FALSE(permit.empty());
  EXPECT_EQ(test.left("job=x"), 1U);
  EXPECT_EQ(test.ask_permit(Operation::release, permit).verdict, Verdict::allowed);
  EXPECT_EQ(test.left("job=x"), 2U);
}

TEST(EnginePermit, ReleasedTwiceIsFineAndGivesBackOnce) {
  EngineUnderTest test{kRules};
  const std::string permit = test.take({"job=x"}).permit;
  test.take({"job=x"});
  EXPECT_EQ(test.ask_permit(Operation::release, permit).verdict, Verdict::allowed);
  EXPECT_EQ(test.ask_permit(Operation::release, permit).verdict, Verdict::allowed);
  EXPECT_EQ(test.left("job=x"), 1U);
}

TEST(EnginePermit, HoldsAPlaceOfEveryLimitOfTheRequest) {
  EngineUnderTest test{kRules};
  const std::string permit = test.take({"job=x", "host=h", "rate=r"}).permit;
  EXPECT_EQ(test.left("host=h"), 2U);
  test.ask_permit(Operation::release, permit);
  EXPECT_EQ(test.left("job=x"), 2U);
  EXPECT_EQ(test.left("host=h"), 3U);
  EXPECT_EQ(test.left("rate=r"), 0U) << "a rate is not given back";
}

TEST(EnginePermit, ACostOfSeveralIsOnePermit) {
  EngineUnderTest test{kRules};
  const std::string permit = test.take({"job=x"}, 2).permit;
  EXPECT_EQ(test.left("job=x"), 0U);
  test.ask_permit(Operation::release, permit);
  EXPECT_EQ(test.left("job=x"), 2U);
}

TEST(EnginePermit, IsTakenBackWhenItsTimeIsOver) {
  EngineUnderTest test{kRules};
  test.take({"job=x"}, 2);
  test.clock.advance(60s);
  EXPECT_EQ(test.take({"job=x"}).verdict, Verdict::allowed);
}

TEST(EnginePermit, ARenewalStartsItsTimeAnew) {
  EngineUnderTest test{kRules};
  const std::string permit = test.take({"job=x"}, 2).permit;
  test.clock.advance(59s);
  EXPECT_EQ(test.ask_permit(Operation::renew, permit).verdict, Verdict::allowed);
  test.clock.advance(59s);
  EXPECT_EQ(test.take({"job=x"}).verdict, Verdict::denied);
  test.clock.advance(1s);
  EXPECT_EQ(test.take({"job=x"}).verdict, Verdict::allowed);
}

TEST(EnginePermit, ARenewalOfWhatIsNoLongerHeldIsNotFound) {
  EngineUnderTest test{kRules};
  const std::string permit = test.take({"job=x"}).permit;
  test.ask_permit(Operation::release, permit);
  const OwnedAnswer answer = test.ask_permit(Operation::renew, permit);
  EXPECT_EQ(answer.verdict, Verdict::undecided);
  ASSERT_TRUE(answer.error.has_value());
  EXPECT_EQ(answer.error->code, ErrorCode::not_found);
}

TEST(EnginePermit, ATextThatIsNotOursIsNotFound) {
  EngineUnderTest test{kRules};
  std::string permit = test.take({"job=x"}).permit;
  permit[20] = permit[20] == 'A' ? 'B' : 'A';
  for (const std::string& text : {permit, std::string{"x"}, std::string(100'000, 'A')}) {
    for (const Operation operation : {Operation::release, Operation::renew}) {
      const OwnedAnswer answer = test.ask_permit(operation, text);
      ASSERT_TRUE(answer.error.has_value());
      EXPECT_EQ(answer.error->code, ErrorCode::not_found);
    }
  }
  EXPECT_EQ(test.left("job=x"), 1U);
}

TEST(EnginePermit, IsReleasedAlsoWhenItsRuleIsGoneOrAnother) {
  EngineUnderTest test{kRules};
  const std::string permit = test.take({"job=x"}, 2).permit;
  test.load(R"(
domain: test
descriptors:
  - key: job
    rate_limit: {unit: minute, requests_per_unit: 5, algorithm: token_bucket}
)");
  EXPECT_EQ(test.take({"job=x"}).descriptors[0].decision.remaining, 4U);
  EXPECT_EQ(test.ask_permit(Operation::release, permit).verdict, Verdict::allowed);
  EXPECT_EQ(test.left("job=x"), 4U);
  test.load(kRules);
  EXPECT_EQ(test.left("job=x"), 2U);
}

TEST(EnginePermit, ARefusalLeavesNoPermitBehind) {  // PART 139
  EngineUnderTest test{kRules};
  test.take({"rate=r"});
  for (int i = 0; i < 1000; ++i) {
    const OwnedAnswer answer = test.take({"job=x", "host=h", "rate=r"});
    EXPECT_EQ(answer.verdict, Verdict::denied);
    EXPECT_TRUE(answer.permit.empty());
  }
  EXPECT_EQ(test.left("job=x"), 2U);
  EXPECT_EQ(test.left("host=h"), 3U);
}

TEST(EnginePermit, NegativeHitsReleaseTheOldest) {
  EngineUnderTest test{kRules};
  test.take({"job=x"});
  test.clock.advance(1s);
  const std::string newer = test.take({"job=x"}).permit;
  EXPECT_EQ(test.take({Ask{"job=x"}.giving_back(1)}).verdict, Verdict::allowed);
  EXPECT_EQ(test.left("job=x"), 1U);
  EXPECT_EQ(test.ask_permit(Operation::renew, newer).verdict, Verdict::allowed);
}

TEST(EnginePermit, AShadowRuleOverItsLimitGivesNone) {
  EngineUnderTest test{kRules};
  EXPECT_FALSE(test.take({"shadow=x"}).permit.empty());
  const OwnedAnswer over = test.take({"shadow=x"});
  EXPECT_EQ(over.verdict, Verdict::allowed);
  EXPECT_TRUE(over.permit.empty());
}

TEST(EnginePermit, AskingGivesNone) {
  EngineUnderTest test{kRules};
  EXPECT_TRUE(test.peek({"job=x"}).permit.empty());
  EXPECT_TRUE(test.take({Ask{"job=x"}.with_hits(0)}).permit.empty());
  EXPECT_TRUE(test.take({"rate=r"}).permit.empty());
}

}  // namespace
}  // namespace sluice::test
