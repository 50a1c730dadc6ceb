#include "wire/rls_json.h"

#include <array>
#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

bool is_request(std::string_view body) {
  RlsDecoder decoder;
  return decoder.decode(body) != nullptr;
}

TEST(RlsDecoder, ReadsBothSpellingsAndNumbersAsStrings) {
  RlsDecoder decoder;
  const Request* request = decoder.decode(
      R"({"domain":"d","hitsAddend":"3","descriptors":[{"entries":[{"key":"a","value":"b"}],)"
      R"("hits_addend":"5","isNegativeHits":true,"limit":{"requestsPerUnit":7,"unit":"WEEK"}},)"
      R"({"entries":[{"key":"c"}],"limit":{"requests_per_unit":"8","unit":6},"hitsAddend":0}]})");
  ASSERT_NE(request, nullptr) << decoder.problem();
  EXPECT_EQ(request->hits, 3);
  const auto& first = request->descriptors[0];
  EXPECT_EQ(first.entries[0].value, "b");
  EXPECT_EQ(first.hits, 5);
  EXPECT_TRUE(first.is_negative_hits);
  EXPECT_EQ(first.limit->requests, 7);
  EXPECT_EQ(first.limit->unit, "week");
  const auto& second = request->descriptors[1];
  EXPECT_EQ(second.entries[0].value, "");
  EXPECT_EQ(second.limit->unit, "year");
  EXPECT_EQ(second.hits, 0);
}

TEST(RlsDecoder, TakesOneHitWhenTheRequestSaysNoneOrZero) {
  RlsDecoder decoder;
  const std::string tail = R"("domain":"d","descriptors":[{"entries":[{"key":"a","value":"b"}]}]})";
  EXPECT_EQ(decoder.decode("{" + tail)->hits, 1);
  EXPECT_EQ(decoder.decode("{\"hitsAddend\":0," + tail)->hits, 1);
  EXPECT_EQ(decoder.decode("{\"hitsAddend\":null," + tail)->hits, 1);
}

TEST(RlsDecoder, RefusesWhatTheOriginalRefuses) {
  for (const std::string_view body : {
           "",
           "}",
           "{}",
           "[]",
           "null",
           R"({"domain":"d"})",
           R"({"domain":"d","descriptors":[]})",
           R"({"domain":"","descriptors":[{"entries":[{"key":"a","value":"b"}]}]})",
           R"({"domain":"d","foo":1,"descriptors":[{"entries":[{"key":"a","value":"b"}]}]})",
           R"({"domain":"d","descriptors":[{"entries":[{"key":"a","value":"b","x":"y"}]}]})",
           R"({"domain":"d","domain":"d","descriptors":[{"entries":[{"key":"a","value":"b"}]}]})",
           R"({"domain":"d","hitsAddend":1,"hits_addend":1,)"
           R"("descriptors":[{"entries":[{"key":"a"}]}]})",
           R"({"domain":"d","hitsAddend":4294967296,"descriptors":[{"entries":[{"key":"a"}]}]})",
           R"({"domain":"d","hitsAddend":-1,"descriptors":[{"entries":[{"key":"a"}]}]})",
           R"({"domain":"d","hitsAddend":"x","descriptors":[{"entries":[{"key":"a"}]}]})",
           R"({"domain":"d","descriptors":[{"entries":[]}]})",
           R"({"domain":"d","descriptors":[{"entries":[{"value":"b"}]}]})",
           R"({"domain":"d","descriptors":[null]})",
           R"({"domain":"d","descriptors":[{"entries":[{"key":"a"}],"limit":{"unit":"EON"}}]})",
       }) {
    EXPECT_FALSE(is_request(body)) << body;
  }
}

TEST(RlsDecoder, TakesNoValueWithoutAKey) {
  RlsDecoder decoder;
  const std::string good =
      R"({"domain":"d","descriptors":[{"entries":[{"key":"a","value":"b"}]}]})";
  for (const std::string_view bad :
       {R"("x")", "1", "[", R"({"domain":"d","descriptors":[{"entries":[{"key":"a"},"x"]}]})",
        R"({"domain":"d","descriptors":[{"entries":[{"key":"a"}]},"x"]})",
        R"({"domain":"d","descriptors":[{"entries":[{"key":"a"}]},1]})"}) {
    ASSERT_NE(decoder.decode(good), nullptr);  // What it leaves behind must not matter.
    EXPECT_EQ(decoder.decode(bad), nullptr) << bad;
  }
}

std::string text_of(const Answer& answer, std::span<const Descriptor> descriptors) {
  Request request;
  request.descriptors = descriptors;
  ByteBuffer out;
  append_rls_answer(out, request, answer);
  return std::string(out.view());
}

TEST(RlsAnswer, SaysOkWithoutARule) {
  const std::array<Descriptor, 1> asked{};
  const std::array<DescriptorAnswer, 1> answers{};
  Answer answer;
  answer.descriptors = answers;
  EXPECT_EQ(text_of(answer, asked), R"({"overallCode":"OK","statuses":[{"code":"OK"}]})");
}

TEST(RlsAnswer, TellsTheLimitAndWhatIsLeft) {
  RuleLimit rule;
  rule.name = "n";
  rule.limit.requests = 50;
  rule.limit.period = std::chrono::minutes{1};
  const std::array<Descriptor, 1> asked{};
  const std::array<DescriptorAnswer, 1> answers{
      {{&rule,
        {Verdict::allowed, 50, 49, Duration{0}, Duration{1'500'000'000}, Duration{0}},
        {},
        false}}};
  Answer answer;
  answer.descriptors = answers;
  EXPECT_EQ(
      text_of(answer, asked),
      R"({"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"name":"n",)"
      R"("requestsPerUnit":50,"unit":"MINUTE"},"limitRemaining":49,"durationUntilReset":"2s"}]})");
}

TEST(RlsAnswer, TellsTheLimitThatCameWithTheRequest) {
  RuleLimit rule;
  std::array<Descriptor, 1> asked{};
  asked[0].limit = LimitOverride{.requests = 3, .period = std::chrono::hours{1}, .unit = "hour"};
  const std::array<DescriptorAnswer, 1> answers{
      {{&rule, {Verdict::denied, 3, 0, Duration{5}, Duration{5}, Duration{0}}, {}, true}}};
  Answer answer;
  answer.verdict = Verdict::denied;
  answer.descriptors = answers;
  EXPECT_EQ(text_of(answer, asked),
            R"({"overallCode":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT","currentLimit":)"
            R"({"requestsPerUnit":3,"unit":"HOUR"},"durationUntilReset":"1s"}]})");
}

}  // namespace
}  // namespace sluice
