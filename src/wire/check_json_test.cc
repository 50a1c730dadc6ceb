#include "wire/check_json.h"

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace sluice {
namespace {

using std::string_view_literals::operator""sv;

// The field and the reason of a body that is no request.
std::pair<std::string, std::string> problem_of(std::string_view body,
                                               Operation operation = Operation::take) {
  CheckDecoder decoder;
  EXPECT_EQ(decoder.decode(body, operation), nullptr) << body;
  return {decoder.problem().field, decoder.problem().detail};
}

std::string field_of(std::string_view body) {
  return problem_of(body).first;
}

TEST(CheckDecoder, ReadsTheShortFormInWrittenOrder) {
  CheckDecoder decoder;
  const Request* request = decoder.decode(
      R"({"domain":"api","descriptors":[{"z":"1","a":"2"},{"k":""}],"hits":3})", Operation::peek);
  ASSERT_NE(request, nullptr) << decoder.problem().detail;
  EXPECT_EQ(request->operation, Operation::peek);
  EXPECT_EQ(request->domain, "api");
  EXPECT_EQ(request->hits, 3);
  ASSERT_EQ(request->descriptors.size(), 2);
  ASSERT_EQ(request->descriptors[0].entries.size(), 2);
  EXPECT_EQ(request->descriptors[0].entries[0].key, "z");
  EXPECT_EQ(request->descriptors[0].entries[1].value, "2");
  EXPECT_EQ(request->descriptors[1].entries[0].value, "");
  EXPECT_FALSE(request->descriptors[0].hits);
}

TEST(CheckDecoder, TakesOneHitWhenNoneIsSaid) {
  CheckDecoder decoder;
  const Request* request =
      decoder.decode(R"({"domain":"d","descriptors":[{"a":"1"}]})", Operation::take);
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->hits, 1);
}

TEST(CheckDecoder, ReadsTheLongForm) {
  CheckDecoder decoder;
  const Request* request = decoder.decode(
      R"({"descriptors":[{"hits":0,"entries":[{"key":"k","value":"v"},{"value":"w","key":"k"}],)"
      R"("limit":{"unit":"minute","requests_per_unit":7}}],"domain":"d"})",
      Operation::take);
  ASSERT_NE(request, nullptr) << decoder.problem().detail;
  const Descriptor& descriptor = request->descriptors[0];
  ASSERT_EQ(descriptor.entries.size(), 2);
  EXPECT_EQ(descriptor.entries[1].key, "k");
  EXPECT_EQ(descriptor.entries[1].value, "w");
  EXPECT_EQ(descriptor.hits, 0);
  ASSERT_TRUE(descriptor.limit);
  EXPECT_EQ(descriptor.limit->requests, 7);
  EXPECT_EQ(descriptor.limit->period, std::chrono::minutes{1});
  EXPECT_EQ(descriptor.limit->unit, "minute");
}

TEST(CheckDecoder, KeepsWhatWasEscapedUntilItsNextBody) {
  CheckDecoder first;
  const Request* request =
      first.decode(R"({"domain":"a\u0062c","descriptors":[{"k\n1":"\"one\""}]})", Operation::take);
  ASSERT_NE(request, nullptr) << first.problem().detail;
  CheckDecoder second;  // The parser's stack now holds other text.
  ASSERT_NE(
      second.decode(R"({"domain":"x\u0079z","descriptors":[{"q\t2":"\\two\\"}]})", Operation::take),
      nullptr);
  EXPECT_EQ(request->domain, "abc");
  EXPECT_EQ(request->descriptors[0].entries[0].key, "k\n1");
  EXPECT_EQ(request->descriptors[0].entries[0].value, "\"one\"");
}

TEST(CheckDecoder, TakesNamesOfTheLongFormAsOrdinaryKeysWhenTheirValuesAreStrings) {
  CheckDecoder decoder;
  const Request* request = decoder.decode(
      R"({"domain":"d","descriptors":[{"entries":"1","hits":"2","limit":"3"}]})", Operation::take);
  ASSERT_NE(request, nullptr) << decoder.problem().detail;
  ASSERT_EQ(request->descriptors[0].entries.size(), 3);
  EXPECT_EQ(request->descriptors[0].entries[0].key, "entries");
}

TEST(CheckDecoder, ReadsEscapesAndEveryByteThatUtf8Allows) {
  CheckDecoder decoder;
  const Request* request = decoder.decode(
      "{\"domain\":\"d\",\"descriptors\":[{\"a\\u0000b\":\"x\\\"\\\\\\n\\ud83d\\ude00\",\"ä\":"
      "\"😀\"}]}",
      Operation::take);
  ASSERT_NE(request, nullptr) << decoder.problem().detail;
  const auto& entries = request->descriptors[0].entries;
  EXPECT_EQ(entries[0].key, "a\0b"sv);
  EXPECT_EQ(entries[0].value, "x\"\\\n😀");
  EXPECT_EQ(entries[1].key, "ä");
  EXPECT_EQ(entries[1].value, "😀");
}

TEST(CheckDecoder, LetsNoCostBecomeASmallerOne) {
  CheckDecoder decoder;
  const auto hits = [&](std::string_view text) {
    const std::string body =
        R"({"domain":"d","descriptors":[{"a":"1"}],"hits":)" + std::string(text) + "}";
    const Request* request = decoder.decode(body, Operation::take);
    return request == nullptr ? Cost{0} : request->hits;
  };
  EXPECT_EQ(hits("4294967295"), kCostMax);
  EXPECT_EQ(hits("4294967296"), kCostMax + 1);
  EXPECT_GT(hits("18446744073709551615"), kCostMax);
  EXPECT_GT(hits("18446744073709551616"), kCostMax);
  EXPECT_GT(hits("1e300"), kCostMax);
  EXPECT_EQ(hits("2e1"), 20);
  EXPECT_EQ(hits("0e999"), 0);
}

TEST(CheckDecoder, RefusesNegativeAndFractionalCosts) {
  const auto body = [](std::string_view hits) {
    return R"({"domain":"d","descriptors":[{"a":"1"}],"hits":)" + std::string(hits) + "}";
  };
  for (const std::string_view hits :
       {"-1", "-4294967295", "-1e300", "1.5", "\"1\"", "null", "true", "[]", "{}"}) {
    EXPECT_EQ(field_of(body(hits)), "hits") << hits;
  }
}

TEST(CheckDecoder, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(field_of(R"({"descriptors":[{"a":"1"}]})"), "domain");
  EXPECT_EQ(field_of(R"({"domain":"","descriptors":[{"a":"1"}]})"), "domain");
  EXPECT_EQ(field_of(R"({"domain":1,"descriptors":[{"a":"1"}]})"), "domain");
  EXPECT_EQ(field_of(R"({"domain":"d"})"), "descriptors");
  EXPECT_EQ(field_of(R"({"domain":"d","descriptors":[]})"), "descriptors");
  EXPECT_EQ(field_of(R"({"domain":"d","descriptors":{"a":"1"}})"), "descriptors");
  EXPECT_EQ(field_of(R"({"domain":"d","descriptors":"x"})"), "descriptors");
  EXPECT_EQ(field_of(R"({"domain":"d","descriptors":[{}]})"), "descriptors[0]");
  EXPECT_EQ(field_of(R"({"domain":"d","descriptors":[{"a":"1"},"x"]})"), "descriptors[1]");
  EXPECT_EQ(field_of(R"({"domain":"d","descriptors":[{"a":1}]})"), "descriptors[0].a");
  EXPECT_EQ(field_of(R"({"domain":"d","descriptors":[{"a":null}]})"), "descriptors[0].a");
  EXPECT_EQ(field_of(R"({"domain":"d","descriptors":[{"a":{"b":"c"}}]})"), "descriptors[0].a");
  EXPECT_EQ(field_of(R"({"domain":"d","descriptors":[{"":"x"}]})"), "descriptors[0].");
  EXPECT_EQ(field_of(R"({"domain":"d","hitz":1})"), "hitz");
  EXPECT_EQ(field_of(R"({"domain":"d","permit":"x"})"), "permit");
}

TEST(CheckDecoder, NamesTheFieldThatIsWrongInTheLongForm) {
  const auto field = [](std::string_view descriptor) {
    return field_of(R"({"domain":"d","descriptors":[{"a":"1"},)" + std::string(descriptor) + "]}");
  };
  EXPECT_EQ(field(R"({"entries":[]})"), "descriptors[1]");
  EXPECT_EQ(field(R"({"entries":["a"]})"), "descriptors[1].entries[0]");
  EXPECT_EQ(field(R"({"entries":[{"key":"a","value":"b"},{"key":"a"}]})"),
            "descriptors[1].entries[1].value");
  EXPECT_EQ(field(R"({"entries":[{"value":"a"}]})"), "descriptors[1].entries[0].key");
  EXPECT_EQ(field(R"({"entries":[{"key":"","value":"a"}]})"), "descriptors[1].entries[0].key");
  EXPECT_EQ(field(R"({"entries":[{"key":"a","value":1}]})"), "descriptors[1].entries[0].value");
  EXPECT_EQ(field(R"({"entries":[{"key":"a","value":"b","x":"c"}]})"),
            "descriptors[1].entries[0].x");
  EXPECT_EQ(field(R"({"entries":[{"key":"a","value":"b"}],"api":"x"})"), "descriptors[1].api");
  EXPECT_EQ(field(R"({"api":"x","entries":[{"key":"a","value":"b"}]})"), "descriptors[1].api");
  EXPECT_EQ(field(R"({"api":"x","hits":1})"), "descriptors[1].hits");
  EXPECT_EQ(field(R"({"entries":[{"key":"a","value":"b"}],"hits":-1})"), "descriptors[1].hits");
  EXPECT_EQ(field(R"({"entries":[{"key":"a","value":"b"}],"limit":{"unit":"minute"}})"),
            "descriptors[1].limit.requests_per_unit");
  EXPECT_EQ(field(R"({"entries":[{"key":"a","value":"b"}],"limit":{"requests_per_unit":1}})"),
            "descriptors[1].limit.unit");
  EXPECT_EQ(field(R"({"entries":[{"key":"a","value":"b"}],"limit":{"unit":"fortnight"}})"),
            "descriptors[1].limit.unit");
  EXPECT_EQ(
      field(R"({"entries":[{"key":"a","value":"b"}],"limit":{"requests_per_unit":4294967296}})"),
      "descriptors[1].limit.requests_per_unit");
}

TEST(CheckDecoder, RefusesAFieldThatIsThereTwice) {
  for (const std::string_view body : {
           R"({"domain":"d","domain":"e","descriptors":[{"a":"1"}]})",
           R"({"domain":"d","descriptors":[{"a":"1"}],"descriptors":[{"a":"1"}]})",
           R"({"domain":"d","descriptors":[{"a":"1"}],"hits":1,"hits":1})",
           R"({"domain":"d","descriptors":[{"a":"1","b":"2","a":"1"}]})",
           R"({"domain":"d","descriptors":[{"hits":1,"hits":1,"entries":[{"key":"a","value":"1"}])"
           R"(}]})",
           R"({"domain":"d","descriptors":[{"entries":[{"key":"a","key":"a","value":"1"}]}]})",
       }) {
    EXPECT_NE(problem_of(body).second.find("is there twice"), std::string::npos) << body;
  }
}

TEST(CheckDecoder, SaysWhichByteIsNotUtf8) {
  const auto detail = [](std::string_view value) {
    return problem_of(R"({"domain":"d","descriptors":[{"a":")" + std::string(value) + "\"}]}")
        .second;
  };
  EXPECT_EQ(detail("\xff"), "not UTF-8: byte 0xff at byte 35");
  EXPECT_NE(detail("\xc0\x80").find("not UTF-8"), std::string::npos);
  EXPECT_NE(detail("\xed\xa0\x80").find("not UTF-8"), std::string::npos);
  EXPECT_NE(detail("x\xe2\x82").find("not UTF-8"), std::string::npos);
  EXPECT_EQ(detail("\0"sv), "control character 0x00 at byte 35: write it as \\u0000");
}

TEST(CheckDecoder, SaysWhereTextIsNotJson) {
  EXPECT_EQ(problem_of("").second, "the body is empty; expected a JSON object");
  EXPECT_EQ(problem_of("[]").second, "the body must be a JSON object");
  EXPECT_EQ(problem_of("\"x\"").second, "the body must be a JSON object");
  EXPECT_EQ(problem_of("null").second, "the body must be a JSON object");
  EXPECT_EQ(problem_of(R"({"domain":"d")").second, "the body ends in the middle of the JSON value");
  EXPECT_NE(problem_of(R"({"domain":"d"} x)").second.find("text after the JSON value"),
            std::string::npos);
  EXPECT_NE(problem_of(R"({domain:"d"})").second.find("not JSON at byte 1"), std::string::npos);
  EXPECT_NE(problem_of(R"({"domain":"d",})").second.find("not JSON at byte 14"), std::string::npos);
  EXPECT_NE(problem_of(R"({"domain":"\ud800"})").second.find("not JSON"), std::string::npos);
}

TEST(CheckDecoder, IsNotLedIntoTheDepth) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(problem_of(deep).second, "the body must be a JSON object");
  EXPECT_EQ(field_of(R"({"domain":"d","descriptors":)" + deep), "descriptors[0]");
}

TEST(CheckDecoder, RefusesMoreDescriptorsAndEntriesThanItsBounds) {
  std::string body = R"({"domain":"d","descriptors":[{"a":"1"})";
  for (std::size_t i = 0; i < kDescriptorsMax; ++i) body += R"(,{"a":"1"})";
  EXPECT_EQ(field_of(body + "]}"), "descriptors[1024]");
  body = R"({"domain":"d","descriptors":[{"entries":[{"key":"a","value":"1"})";
  for (std::size_t i = 0; i < kEntriesMax; ++i) body += R"(,{"key":"a","value":"1"})";
  EXPECT_EQ(field_of(body + "]}]}"), "descriptors[0].entries[4096]");
}

TEST(CheckDecoder, TakesAPermitAloneForReleaseAndRenew) {
  CheckDecoder decoder;
  const Request* request = decoder.decode(R"({"permit":"p"})", Operation::release);
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->permit, "p");
  EXPECT_EQ(problem_of("{}", Operation::renew).first, "permit");
  EXPECT_EQ(problem_of(R"({"permit":"p","domain":"d"})", Operation::release).first, "domain");
}

TEST(CheckDecoder, ForgetsTheBodyBefore) {
  CheckDecoder decoder;
  ASSERT_NE(decoder.decode(R"({"domain":"d","descriptors":[{"a":"1"}],"hits":9})", Operation::take),
            nullptr);
  EXPECT_EQ(decoder.decode(R"({"descriptors":[{"a":"1"}]})", Operation::take), nullptr);
  const Request* request =
      decoder.decode(R"({"domain":"e","descriptors":[{"b":"2"}]})", Operation::take);
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->hits, 1);
  EXPECT_EQ(request->descriptors.size(), 1);
  for (const std::string_view bad : {"1", "\"x\"", "[", "null"}) {
    EXPECT_EQ(decoder.decode(bad, Operation::take), nullptr) << bad;
    EXPECT_EQ(decoder.problem().detail, "the body must be a JSON object") << bad;
  }
}

std::string text_of(const Answer& answer) {
  ByteBuffer out;
  append_check_answer(out, answer);
  return std::string(out.view());
}

TEST(CheckAnswer, TellsTheDecidingLimitAndEveryDescriptor) {
  RuleLimit rule;
  rule.label = "api_key";
  const std::array<DescriptorAnswer, 2> descriptors{{
      {&rule,
       {Verdict::allowed, 100, 99, Duration{0}, Duration{40'000'000'001}, Duration{0}},
       {},
       false},
      {},
  }};
  EXPECT_EQ(text_of({.verdict = Verdict::allowed,
                     .deciding = 0,
                     .descriptors = descriptors,
                     .permit = {},
                     .delay = Duration{0},
                     .error = nullptr}),
            R"({"verdict":"allowed","limit":100,"remaining":99,"retry_after_ms":0,)"
            R"("reset_after_ms":40001,"rule":"api_key","descriptors":[{"verdict":"allowed",)"
            R"("limit":100,"remaining":99,"retry_after_ms":0,"reset_after_ms":40001,)"
            R"("rule":"api_key"},{"verdict":"allowed","limit":null,"remaining":null,)"
            R"("retry_after_ms":0,"reset_after_ms":0,"rule":null}]})"
            "\n");
}

TEST(CheckAnswer, WritesAWaitWithoutEndAsNull) {
  RuleLimit rule;
  const std::array<DescriptorAnswer, 1> descriptors{
      {{&rule, {Verdict::denied, 10, 10, kNever, Duration{0}, Duration{0}}, {}, false}}};
  const std::string text = text_of({.verdict = Verdict::denied,
                                    .deciding = 0,
                                    .descriptors = descriptors,
                                    .permit = {},
                                    .delay = Duration{0},
                                    .error = nullptr});
  EXPECT_NE(text.find(R"("retry_after_ms":null)"), std::string::npos) << text;
}

TEST(CheckAnswer, NeverShowsARefusalsWaitAsZero) {
  RuleLimit rule;
  const std::array<DescriptorAnswer, 1> descriptors{
      {{&rule, {Verdict::denied, 10, 0, Duration{1}, Duration{1}, Duration{0}}, {}, false}}};
  const std::string text = text_of({.verdict = Verdict::denied,
                                    .deciding = 0,
                                    .descriptors = descriptors,
                                    .permit = {},
                                    .delay = Duration{0},
                                    .error = nullptr});
  EXPECT_NE(text.find(R"("retry_after_ms":1,)"), std::string::npos) << text;
}

TEST(CheckAnswer, CarriesPermitAndDelay) {
  RuleLimit rule;
  rule.limit.algorithm = Algorithm::leaky_bucket;
  const std::array<DescriptorAnswer, 1> descriptors{
      {{&rule, {Verdict::allowed, 1, 0, Duration{0}, Duration{1}, Duration{0}}, {}, false}}};
  const std::string text = text_of({.verdict = Verdict::allowed,
                                    .deciding = 0,
                                    .descriptors = descriptors,
                                    .permit = "abc",
                                    .delay = Duration{1'500'000},
                                    .error = nullptr});
  EXPECT_NE(text.find(R"("permit":"abc","delay_ms":2)"), std::string::npos) << text;
}

}  // namespace
}  // namespace sluice
