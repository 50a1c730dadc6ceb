#include "engine/limit_in_play.h"

#include <vector>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using namespace std::chrono_literals;

// A few limits with the verdicts that their store gave.
class Play {
 public:
  Play& add(Role role, Verdict verdict, StoreErrorPolicy policy = StoreErrorPolicy::fail_closed) {
    RuleLimit& rule = *rules_.emplace_back(std::make_unique<RuleLimit>());
    rule.on_store_error = policy;
    Charge charge;
    charge.role = role;
    charge.decision.verdict = verdict;
    limits_.push_back({.rule = &rule});
    limits_.back().is_excused =
        verdict == Verdict::undecided && is_excusable(limits_.back(), charge);
    charges_.push_back(charge);
    return *this;
  }
  Verdict verdict(bool quota_passes = false) const {
    return verdict_of(limits_, charges_, quota_passes);
  }

 private:
  std::vector<std::unique_ptr<RuleLimit>> rules_;
  std::vector<LimitInPlay> limits_;
  std::vector<Charge> charges_;
};

constexpr Verdict kAllowed = Verdict::allowed;
constexpr Verdict kDenied = Verdict::denied;
constexpr Verdict kUndecided = Verdict::undecided;

TEST(LimitInPlay, OneRefusalRefusesTheWhole) {
  EXPECT_EQ(Play{}.verdict(), kAllowed);
  EXPECT_EQ(Play{}.add(Role::enforced, kAllowed).verdict(), kAllowed);
  EXPECT_EQ(Play{}.add(Role::enforced, kAllowed).add(Role::enforced, kDenied).verdict(), kDenied);
}

TEST(LimitInPlay, AShadowRefusesNothingAndItsSilenceIsNotHeard) {
  EXPECT_EQ(Play{}.add(Role::shadow, kDenied).verdict(), kAllowed);
  EXPECT_EQ(Play{}.add(Role::shadow, kUndecided).verdict(), kAllowed);
}

TEST(LimitInPlay, QuotasRefuseOnlyTogether) {
  EXPECT_EQ(Play{}.add(Role::quota, kDenied).verdict(), kDenied);
  EXPECT_EQ(Play{}.add(Role::quota, kDenied).verdict(true), kAllowed);
  EXPECT_EQ(Play{}.add(Role::quota, kDenied).add(Role::quota, kAllowed).verdict(), kAllowed);
  EXPECT_EQ(Play{}.add(Role::quota, kDenied).add(Role::quota, kDenied).verdict(), kDenied);
  EXPECT_EQ(Play{}.add(Role::quota, kAllowed).add(Role::enforced, kDenied).verdict(), kDenied);
}

TEST(LimitInPlay, ARefusalIsCertainThoughAnotherLimitIsSilent) {
  EXPECT_EQ(Play{}.add(Role::enforced, kUndecided).add(Role::enforced, kDenied).verdict(), kDenied);
}

TEST(LimitInPlay, SilenceFollowsThePolicyOfTheRule) {
  const auto silent = [](StoreErrorPolicy policy) {
    return Play{}.add(Role::enforced, kAllowed).add(Role::enforced, kUndecided, policy).verdict();
  };
  EXPECT_EQ(silent(StoreErrorPolicy::fail_closed), kUndecided);
  EXPECT_EQ(silent(StoreErrorPolicy::fail_open), kAllowed);
}

TEST(LimitInPlay, AQuotaThatFailsOpenPasses) {
  EXPECT_EQ(Play{}
                .add(Role::quota, kDenied)
                .add(Role::quota, kUndecided, StoreErrorPolicy::fail_open)
                .verdict(),
            kAllowed);
  EXPECT_EQ(Play{}.add(Role::quota, kDenied).add(Role::quota, kUndecided).verdict(), kUndecided);
}

Decision refused(Duration wait) {
  return {.verdict = kDenied, .retry_after = wait};
}
Decision passed(std::uint32_t remaining, Duration reset) {
  return {.limit = 100, .remaining = remaining, .reset_after = reset};
}

TEST(LimitInPlay, TheStricterDecisionDescribesTheAnswer) {
  const std::vector<Decision> from_strict_to_lax{
      refused(kNever), refused(2s),    refused(1s),   {.verdict = kUndecided},
      passed(0, 9s),   passed(1, 60s), passed(1, 9s), kPassWithoutNumbers};
  for (std::size_t i = 0; i < from_strict_to_lax.size(); ++i) {
    for (std::size_t j = 0; j < from_strict_to_lax.size(); ++j) {
      EXPECT_EQ(is_stricter(from_strict_to_lax[i], from_strict_to_lax[j]), i < j) << i << " " << j;
    }
  }
}

TEST(LimitInPlay, OfEquallyStrictDescriptorsTheFirstDecides) {
  const RuleLimit rule;
  const std::vector<DescriptorAnswer> answers(
      3, DescriptorAnswer{.rule = &rule, .decision = passed(1, 1s)});
  EXPECT_EQ(deciding_descriptor(answers, kAllowed), 0U);
}

TEST(LimitInPlay, ADescriptorThatAgreesWithTheWholeDecides) {
  const RuleLimit rule;
  const std::vector<DescriptorAnswer> answers{{.rule = &rule, .decision = refused(1s)},
                                              {.rule = &rule, .decision = passed(5, 1s)},
                                              {.rule = &rule, .decision = passed(3, 1s)}};
  EXPECT_EQ(deciding_descriptor(answers, kAllowed), 2U);
  EXPECT_EQ(deciding_descriptor(answers, kDenied), 0U);
  EXPECT_EQ(deciding_descriptor(std::span{answers}.first(1), kAllowed), 0U)
      << "where none agrees, whoever has numbers";
}

TEST(LimitInPlay, OfQuotasThatAllRefuseTheOneThatPassesFirstSaysHowLong) {
  const RuleLimit rule;
  const std::vector<DescriptorAnswer> quotas{
      {.rule = &rule, .decision = refused(1h), .is_quota = true},
      {.rule = &rule, .decision = refused(2s), .is_quota = true}};
  EXPECT_EQ(deciding_descriptor(quotas, kDenied), 1U);
  std::vector<DescriptorAnswer> with_enforced = quotas;
  with_enforced.push_back({.rule = &rule, .decision = refused(1s)});
  EXPECT_EQ(deciding_descriptor(with_enforced, kDenied), 1U);
  with_enforced.back().decision = refused(3s);
  EXPECT_EQ(deciding_descriptor(with_enforced, kDenied), 2U);
}

TEST(LimitInPlay, AListOfQuotasIsDescribedByTheOneThatPasses) {
  const RuleLimit rule;
  const std::vector<LimitInPlay> limits(2, LimitInPlay{.rule = &rule});
  std::vector<Charge> charges(2);
  charges[0].role = charges[1].role = Role::quota;
  charges[0].decision = refused(1h);
  charges[1].decision = passed(3, 1s);
  std::vector<DescriptorAnswer> answers(1);
  describe(limits, charges, answers);
  EXPECT_EQ(answers[0].decision.verdict, kAllowed);
  EXPECT_EQ(answers[0].decision.remaining, 3);
}

}  // namespace
}  // namespace sluice
