#include "sluice/vocabulary/rule_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<RuleLimit> per_second(std::uint32_t requests, std::string name = {}) {
  RuleLimit rule;
  rule.name = std::move(name);
  rule.limit.requests = requests;
  return {rule};
}

TEST(RuleSet, SharesOneLimitAmongTheValuesOfAKey) {
  RuleSetBuilder builder;
  const std::uint32_t api = builder.add_domain("api");
  for (const char* value : {"a", "b", "c"}) {
    builder.add_node(api, {.key = "user", .value = value, .limits = per_second(1)});
  }
  builder.add_node(api, {.key = "user", .value = "d", .limits = per_second(2)});
  builder.add_node(api, {.key = "path", .limits = per_second(1)});
  std::vector<Problem> problems;
  const RuleSet rules = builder.build(problems);
  ASSERT_THAT(problems, IsEmpty());
  ASSERT_THAT(rules.limits(), SizeIs(3));
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(rules.limits()[i].index, i);
  EXPECT_EQ(rules.limits(rules.nodes()[2])[0].id, "api/user");
  EXPECT_EQ(rules.limits(rules.nodes()[4])[0].id, "api/path");
}

TEST(RuleSet, KeepsTheIdWhenTheNumbersChange) {
  std::uint64_t hashes[2];
  for (std::uint32_t i = 0; i < 2; ++i) {
    RuleSetBuilder builder;
    builder.add_node(builder.add_domain("api"), {.key = "user", .limits = per_second(i + 10)});
    std::vector<Problem> problems;
    hashes[i] = builder.build(problems).limits()[0].id_hash;
  }
  EXPECT_EQ(hashes[0], hashes[1]);
}

TEST(RuleSet, WritesEveryPartOfAnIdSoThatNoTwoPathsMeet) {
  std::string id;
  append_rule_id(id, "a/b");
  append_rule_id(id, "c%d ");
  append_rule_id(id, "A-z.9_");
  EXPECT_EQ(id, "a%2Fb/c%25d%20/A-z.9_");
}

TEST(RuleSet, RefusesTwoLimitsOfOneListWithTheSameId) {
  RuleSetBuilder builder;
  std::vector<RuleLimit> twice = per_second(1);
  twice.push_back(per_second(2)[0]);
  builder.add_node(builder.add_domain("api"), {.key = "k", .limits = twice, .is_list = true});
  std::vector<Problem> problems;
  builder.build(problems);
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_THAT(problems[0].message, HasSubstr("api/k/fixed_window-1s"));
}

TEST(RuleSet, RefusesALimitNamedLikeAPathBelowIt) {
  RuleSetBuilder builder;
  const std::uint32_t api = builder.add_domain("api");
  const std::uint32_t node =
      builder.add_node(api, {.key = "a", .limits = per_second(1, "b"), .is_list = true});
  builder.add_node(node, {.key = "b", .limits = per_second(1)});
  std::vector<Problem> problems;
  builder.build(problems);
  ASSERT_THAT(problems, SizeIs(1));
  EXPECT_THAT(problems[0].message, HasSubstr("api/a/b"));
}

TEST(RuleSet, TellsEveryDuplicateWithItsPlace) {
  RuleSetBuilder builder;
  builder.begin_file("a.yaml");
  const std::uint32_t api = builder.open_domain(1);
  builder.define_domain(api, "api");
  for (const std::uint32_t line : {3U, 5U, 7U}) {
    builder.define_node(builder.open_node(api, line), {.key = "k", .value = "v"});
  }
  std::vector<Problem> problems;
  builder.build(problems);
  EXPECT_THAT(
      problems,
      ElementsAre(
          Problem{"a.yaml", 5, "duplicate descriptor composite key 'api.k_v', first at a.yaml:3"},
          Problem{"a.yaml", 7, "duplicate descriptor composite key 'api.k_v', first at a.yaml:3"}));
}

TEST(RuleSet, RefusesOrMergesADomainInTwoFiles) {
  for (const auto same : {RuleSetBuilder::SameDomain::refuse, RuleSetBuilder::SameDomain::merge}) {
    RuleSetBuilder builder{same};
    builder.add_node(builder.add_domain("api"), {.key = "a", .limits = per_second(1)});
    builder.add_node(builder.add_domain("other"), {.key = "a", .limits = per_second(1)});
    builder.add_node(builder.add_domain("api"), {.key = "b", .limits = per_second(1)});
    std::vector<Problem> problems;
    const RuleSet rules = builder.build(problems);
    if (same == RuleSetBuilder::SameDomain::refuse) {
      ASSERT_THAT(problems, SizeIs(1));
      EXPECT_THAT(problems[0].message, HasSubstr("duplicate domain 'api'"));
      continue;
    }
    ASSERT_THAT(rules.domains(), SizeIs(2));
    const RuleNode& first = rules.nodes()[rules.domains()[0].first_node];
    EXPECT_EQ(rules.key(first), "a");
    EXPECT_EQ(rules.key(rules.nodes()[first.next_sibling]), "b");
    EXPECT_EQ(rules.limits()[2].id, "api/b");
  }
}

TEST(RuleSet, RefusesADomainOrKeyWithoutAName) {
  RuleSetBuilder builder;
  builder.add_node(builder.add_domain(""), {.key = ""});
  std::vector<Problem> problems;
  builder.build(problems);
  EXPECT_THAT(problems, SizeIs(2));
}

TEST(RuleSet, RefusesAPathThatIsTooDeep) {
  RuleSetBuilder builder;
  std::uint32_t parent = builder.add_domain("api");
  for (std::size_t i = 0; i < kRuleDepthMax; ++i) parent = builder.add_node(parent, {.key = "k"});
  RuleSetBuilder deeper = builder;
  std::vector<Problem> problems;
  builder.build(problems);
  EXPECT_THAT(problems, IsEmpty());
  deeper.add_node(parent, {.key = "k"});
  deeper.build(problems);
  EXPECT_THAT(problems, SizeIs(1));
}

TEST(FitsPattern, LetsEachStarStandForAnyRunOfBytes) {
  EXPECT_TRUE(fits_pattern("foo*bar*baz", "foo123bar456baz"));
  EXPECT_TRUE(fits_pattern("foo*bar*baz", "foobarbaz"));
  EXPECT_TRUE(fits_pattern("*", ""));
  EXPECT_TRUE(fits_pattern("a*b", "abab"));
  EXPECT_TRUE(fits_pattern("a**", "a"));
  EXPECT_FALSE(fits_pattern("bar*b", "bara"));
  EXPECT_FALSE(fits_pattern("bar*b", "xbarb"));
  EXPECT_FALSE(fits_pattern("ab*ba", "aba"));
}

}  // namespace
}  // namespace sluice
