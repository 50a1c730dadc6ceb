#include "engine/rule_matcher.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<RuleLimit> per_second(std::uint32_t requests) {
  RuleLimit rule;
  rule.limit.requests = requests;
  return {rule};
}

struct Found {
  RuleMatch match;
  std::vector<std::string_view> identity;
  std::uint32_t requests() const {
    return match.limits.empty() ? 0 : match.limits[0].limit.requests;
  }
};

// A builder with one domain, and the matcher over what it built.
class RuleMatcherTest : public testing::Test {
 protected:
  std::uint32_t add(std::uint32_t parent, RuleDraft draft) {
    return builder_.add_node(parent, draft);
  }

  void build() {
    std::vector<Problem> problems;
    auto rules = std::make_shared<const RuleSet>(builder_.build(problems));
    ASSERT_THAT(problems, IsEmpty());
    matcher_.emplace(std::move(rules));
  }

  Found find(std::vector<Entry> entries) const {
    Found found;
    found.identity.resize(entries.size());
    found.match = matcher_->match(*matcher_->find_domain("api"), entries, found.identity);
    return found;
  }

  RuleSetBuilder builder_;
  std::uint32_t api_ = builder_.add_domain("api");
  std::optional<RuleMatcher> matcher_;
};

TEST_F(RuleMatcherTest, PrefersTheExactValueThenPatternsInFileOrderThenTheKeyAlone) {
  add(api_, {.key = "k", .limits = per_second(1)});
  add(api_, {.key = "k", .value = "ab*", .limits = per_second(2)});
  add(api_, {.key = "k", .value = "a*", .limits = per_second(3)});
  add(api_, {.key = "k", .value = "*z", .limits = per_second(4)});
  add(api_, {.key = "k", .value = "abc", .limits = per_second(5)});
  build();
  EXPECT_EQ(find({{"k", "abc"}}).requests(), 5U);
  EXPECT_EQ(find({{"k", "abz"}}).requests(), 2U);
  EXPECT_EQ(find({{"k", "az"}}).requests(), 3U);
  EXPECT_EQ(find({{"k", "z"}}).requests(), 4U);
  EXPECT_EQ(find({{"k", "b"}}).requests(), 1U);
  EXPECT_EQ(find({{"k", ""}}).requests(), 1U);
}

TEST_F(RuleMatcherTest, AnswersOnlyWhereTheDescriptorEnds) {
  const std::uint32_t node = add(api_, {.key = "a", .limits = per_second(1)});
  add(node, {.key = "b", .limits = per_second(2)});
  build();
  EXPECT_EQ(find({{"a", "x"}}).requests(), 1U);
  EXPECT_EQ(find({{"a", "x"}, {"b", "y"}}).requests(), 2U);
  EXPECT_EQ(find({{"a", "x"}, {"c", "y"}}).match.node, nullptr);
  EXPECT_EQ(find({{"a", "x"}, {"b", "y"}, {"b", "z"}}).match.node, nullptr);
  EXPECT_EQ(find({{"b", "y"}}).match.node, nullptr);
  EXPECT_EQ(find({}).match.node, nullptr);
}

TEST_F(RuleMatcherTest, DoesNotStepBackFromAnExactValue) {
  add(api_, {.key = "a", .value = "x"});
  const std::uint32_t any = add(api_, {.key = "a"});
  add(any, {.key = "b", .limits = per_second(1)});
  build();
  EXPECT_EQ(find({{"a", "x"}, {"b", "1"}}).match.node, nullptr);
  EXPECT_EQ(find({{"a", "y"}, {"b", "1"}}).requests(), 1U);
}

TEST_F(RuleMatcherTest, PutsThePatternIntoTheIdentityWhereTheThresholdIsShared) {
  const std::uint32_t shared =
      add(api_, {.key = "path", .value = "p/*", .limits = {}, .share_threshold = true});
  add(shared, {.key = "file", .value = "f*", .limits = per_second(1)});
  build();
  EXPECT_THAT(find({{"path", "p/1"}, {"file", "f2"}}).identity, ElementsAre("p/*", "f2"));
}

TEST_F(RuleMatcherTest, FindsPatternsAmongThousandsOfTheSameShape) {
  std::vector<std::string> patterns;
  for (int i = 0; i < 5000; ++i)
    patterns.push_back(std::string{"p"}.append(std::to_string(10'000 + i)).append("/*.pdf"));
  for (std::uint32_t i = 0; i < 5000; ++i) {
    add(api_, {.key = "k", .value = patterns[i], .limits = per_second(i + 1)});
  }
  build();
  EXPECT_EQ(find({{"k", "p10000/a.pdf"}}).requests(), 1U);
  EXPECT_EQ(find({{"k", "p14999/.pdf"}}).requests(), 5000U);
  EXPECT_EQ(find({{"k", "p15000/a.pdf"}}).match.node, nullptr);
  EXPECT_EQ(find({{"k", "p10000/pdf"}}).match.node, nullptr);
}

TEST_F(RuleMatcherTest, KeepsEqualValuesUnderDifferentParentsApart) {
  const std::uint32_t first = add(api_, {.key = "a", .value = "1"});
  const std::uint32_t second = add(api_, {.key = "a", .value = "2"});
  add(first, {.key = "b", .value = "v", .limits = per_second(1)});
  add(second, {.key = "b", .value = "v", .limits = per_second(2)});
  build();
  EXPECT_EQ(find({{"a", "1"}, {"b", "v"}}).requests(), 1U);
  EXPECT_EQ(find({{"a", "2"}, {"b", "v"}}).requests(), 2U);
}

TEST_F(RuleMatcherTest, GivesEveryLimitOfTheNodeAndItsMetadata) {
  RuleLimit minute;
  minute.limit.requests = 5;
  minute.limit.period = std::chrono::minutes{1};
  RuleLimit hour = minute;
  hour.limit.period = std::chrono::hours{1};
  add(api_, {.key = "k", .limits = {minute, hour}, .is_list = true, .metadata = R"({"a":1})"});
  build();
  const Found found = find({{"k", "x"}});
  ASSERT_THAT(found.match.limits, SizeIs(2));
  EXPECT_EQ(found.match.limits[0].id, "api/k/fixed_window-60s");
  EXPECT_EQ(found.match.limits[1].id, "api/k/fixed_window-3600s");
  EXPECT_EQ(found.match.metadata, R"({"a":1})");
}

TEST_F(RuleMatcherTest, ShowsValuesInTheMetricOnlyWhereTheRuleAsks) {
  const std::uint32_t route = add(
      api_, {.key = "route", .value = "api/*", .share_threshold = true, .value_to_metric = true});
  add(route, {.key = "method", .limits = per_second(1)});
  add(api_, {.key = "plain", .limits = per_second(1)});
  std::vector<RuleLimit> detailed = per_second(1);
  detailed[0].detailed_metric = true;
  add(route, {.key = "user", .limits = detailed});
  build();
  const auto label = [&](std::vector<Entry> entries) {
    const Found found = find(entries);
    std::string text;
    append_metric_label(text, found.match, found.match.limits[0], entries, found.identity);
    return text;
  };
  EXPECT_EQ(label({{"plain", "secret"}}), "plain");
  EXPECT_EQ(label({{"route", "api/1"}, {"method", "GET"}}), "route=api/*/method");
  EXPECT_EQ(label({{"route", "api/1"}, {"user", "u1"}}), "route=api/*/user=u1");
}

TEST(RuleMatcher, KnowsNoDomainOfAnEmptySet) {
  const RuleMatcher matcher{std::make_shared<const RuleSet>()};
  EXPECT_EQ(matcher.find_domain("api"), nullptr);
}

}  // namespace
}  // namespace sluice
