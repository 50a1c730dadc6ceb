#include "wire/rate_limit_fields.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The fields of an answer with one descriptor.
std::string fields_of(const RuleLimit& rule, const Decision& decision) {
  const std::array<Descriptor, 1> asked{};
  const std::array<DescriptorAnswer, 1> answers{{{&rule, decision, {}, false}}};
  Request request;
  request.descriptors = asked;
  Answer answer;
  answer.verdict = decision.verdict;
  answer.deciding = 0;
  answer.descriptors = answers;
  ByteBuffer out;
  append_rate_limit_fields(out, request, answer);
  return std::string(out.view());
}

bool has(const std::string& fields, const std::string& line) {
  return ("\r\n" + fields).find("\r\n" + line + "\r\n") != std::string::npos;
}

RuleLimit window() {
  RuleLimit rule;
  rule.label = "api_key";
  rule.limit.requests = 100;
  rule.limit.period = seconds{60};
  return rule;
}

TEST(RateLimitFields, TellTheLimitOfAnAllowedAnswer) {
  EXPECT_EQ(fields_of(window(), {Verdict::allowed, 100, 99, Duration{0}, milliseconds{40'001}, {}}),
            "Cache-Control: no-store\r\n"
            "RateLimit-Policy: \"api_key\";q=100;w=60\r\n"
            "RateLimit: \"api_key\";r=99;t=41\r\n"
            "X-RateLimit-Limit: 100\r\n"
            "X-RateLimit-Remaining: 99\r\n"
            "X-RateLimit-Reset: 41\r\n");
}

TEST(RateLimitFields, NeverSayRetryAfterZero) {
  for (const Duration wait : {Duration{1}, Duration{milliseconds{1}}, Duration{seconds{1}}}) {
    const std::string fields = fields_of(window(), {Verdict::denied, 100, 0, wait, wait, {}});
    EXPECT_TRUE(has(fields, "Retry-After: 1")) << fields;
  }
  EXPECT_TRUE(
      has(fields_of(window(), {Verdict::denied, 100, 0, milliseconds{1001}, seconds{2}, {}}),
          "Retry-After: 2"));
}

TEST(RateLimitFields, LeaveRetryAfterOutWhenThereIsNoEnd) {
  const std::string fields =
      fields_of(window(), {Verdict::denied, 100, 100, kNever, Duration{0}, {}});
  EXPECT_EQ(fields.find("Retry-After"), std::string::npos) << fields;
}

TEST(RateLimitFields, SayTheSameResetWhetherAllowedOrRefused) {
  const Duration reset = seconds{50};
  EXPECT_TRUE(has(fields_of(window(), {Verdict::allowed, 2, 0, Duration{0}, reset, {}}),
                  "X-RateLimit-Reset: 50"));
  EXPECT_TRUE(
      has(fields_of(window(), {Verdict::denied, 2, 0, reset, reset, {}}), "X-RateLimit-Reset: 50"));
}

TEST(RateLimitFields, SayWhenABucketsNextHitComes) {
  RuleLimit rule = window();
  rule.limit = {
      .algorithm = Algorithm::token_bucket, .requests = 1, .period = seconds{10}, .burst = 5};
  // 2 of 5 left, full in 25 s: the third comes in 5 s.
  EXPECT_TRUE(has(fields_of(rule, {Verdict::allowed, 5, 2, Duration{0}, seconds{25}, {}}),
                  "RateLimit: \"api_key\";r=2;t=5"));
  // Nothing left, full in 45 s: the first comes in 5 s, whatever the refused cost has to wait.
  EXPECT_TRUE(has(fields_of(rule, {Verdict::denied, 5, 0, seconds{15}, seconds{45}, {}}),
                  "RateLimit: \"api_key\";r=0;t=5"));
}

TEST(RateLimitFields, NeverPointPastRetryAfter) {
  const std::string fields =
      fields_of(window(), {Verdict::denied, 100, 0, seconds{3}, seconds{100}, {}});
  EXPECT_TRUE(has(fields, "RateLimit: \"api_key\";r=0;t=3")) << fields;
}

TEST(RateLimitFields, KeepALabelFromBreakingTheField) {
  RuleLimit rule = window();
  rule.label = "a\"b\\c\r\nX: y\xc3\xa4";
  const std::string fields =
      fields_of(rule, {Verdict::allowed, 1, 0, Duration{0}, Duration{0}, {}});
  EXPECT_NE(fields.find(R"("a\"b\\c%0D%0AX: y%C3%A4")"), std::string::npos) << fields;
}

TEST(RateLimitFields, SayNoWindowThatIsNoWholeNumberOfSeconds) {
  RuleLimit rule = window();
  rule.limit.period = milliseconds{1500};
  EXPECT_TRUE(has(fields_of(rule, {Verdict::allowed, 100, 99, Duration{0}, Duration{0}, {}}),
                  "RateLimit-Policy: \"api_key\";q=100"));
}

TEST(RateLimitFields, AreAbsentWhenNothingMatched) {
  const std::array<DescriptorAnswer, 1> answers{};
  Answer answer;
  answer.descriptors = answers;
  ByteBuffer out;
  append_rate_limit_fields(out, Request{}, answer);
  EXPECT_EQ(out.view(), "Cache-Control: no-store\r\n");
}

}  // namespace
}  // namespace sluice
