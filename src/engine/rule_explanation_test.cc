#include "engine/rule_explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

RuleLimit per_minute(std::uint32_t requests) {
  RuleLimit rule;
  rule.limit.requests = requests;
  rule.limit.period = std::chrono::minutes{1};
  return rule;
}

RuleMatcher sample() {
  RuleSetBuilder builder;
  builder.begin_file("api.yaml");
  const std::uint32_t api = builder.open_domain(1);
  builder.define_domain(api, "api");
  const std::uint32_t user = builder.open_node(api, 3);
  builder.define_node(user, {.key = "user", .limits = {per_minute(10)}});
  builder.define_node(builder.open_node(user, 5),
                      {.key = "path", .value = "/search", .limits = {per_minute(1)}});
  builder.define_node(
      builder.open_node(api, 7),
      {.key = "file", .value = "f/*", .limits = {per_minute(5)}, .share_threshold = true});
  builder.define_node(builder.open_node(api, 9), {.key = "user", .value = "admin"});
  std::vector<Problem> problems;
  return RuleMatcher{std::make_shared<const RuleSet>(builder.build(problems))};
}

std::string explain(std::vector<Entry> entries, std::string_view domain = "api") {
  return explain_match(sample(), domain, entries);
}

TEST(ExplainMatch, SaysHowEachEntryMatchedAndWhatLimits) {
  EXPECT_EQ(explain({{"user", "u1"}, {"path", "/search"}}),
            "  user=u1  matches  user  by the key alone  api.yaml:3\n"
            "  path=/search  matches  path=/search  by the exact value  api.yaml:5\n"
            "limited by\n"
            "  user/path  1 each 1m, fixed_window\n"
            "    counted as api/user/path for u1, /search\n");
}

TEST(ExplainMatch, SaysThatASharedPatternCountsTogether) {
  EXPECT_THAT(explain({{"file", "f/1"}}),
              AllOf(HasSubstr("by the pattern, counted together"), HasSubstr("for f/*\n")));
}

TEST(ExplainMatch, ShowsWhatNearlyMatched) {
  EXPECT_THAT(explain({{"user", "u1"}, {"path", "/serch"}}),
              AllOf(HasSubstr("allowed: no rule for this descriptor"),
                    HasSubstr("path=/search  api.yaml:5")));
  EXPECT_THAT(explain({{"usr", "u1"}}),
              HasSubstr("what would match here:\n    user  api.yaml:3\n"));
}

TEST(ExplainMatch, SaysWhenARuleHasNoLimitOrEndsTooEarly) {
  EXPECT_THAT(explain({{"user", "admin"}}), HasSubstr("allowed: this rule has no limit"));
  EXPECT_THAT(explain({{"user", "admin"}, {"path", "/x"}}), HasSubstr("as many entries"));
}

TEST(ExplainMatch, GuessesTheDomain) {
  EXPECT_EQ(explain({{"user", "u"}}, "apl"),
            "allowed: there is no domain 'apl'; did you mean 'api'?\n");
}

TEST(ExplainMatch, UsesEscapeCodesOnATerminalAlone) {
  const std::vector<Entry> entries{{"user", "u1"}};
  EXPECT_THAT(explain_match(sample(), "api", entries, TextStyle::terminal), HasSubstr("\x1b[1m"));
  EXPECT_THAT(explain_match(sample(), "api", entries), Not(HasSubstr("\x1b")));
}

TEST(DescribeLimit, NamesTheNumbersThatMatter) {
  RuleLimit bucket = per_minute(5);
  bucket.limit.algorithm = Algorithm::token_bucket;
  bucket.limit.burst = 7;
  bucket.limit.block_for = std::chrono::seconds{30};
  bucket.shadow_mode = true;
  EXPECT_EQ(describe_limit(bucket),
            "5 each 1m, token_bucket, burst 7, then blocked for 30s (shadow: refuses nothing)");
  RuleLimit permits = per_minute(4);
  permits.limit.algorithm = Algorithm::concurrency;
  EXPECT_EQ(describe_limit(permits), "4 at once, permits last 1m");
}

}  // namespace
}  // namespace sluice
