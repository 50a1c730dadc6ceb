#include "wire/json_text.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "wire/flat_json.h"
#include "wire/query.h"

namespace sluice {
namespace {

using std::string_view_literals::operator""sv;

std::string quoted(std::string_view text) {
  ByteBuffer out;
  append_json_string(out, text);
  return std::string(out.view());
}

TEST(JsonText, EscapesWhatJsonWantsEscaped) {
  EXPECT_EQ(quoted("a\"b\\c\n\r\t\x01\x7f"sv), "\"a\\\"b\\\\c\\n\\r\\t\\u0001\x7f\"");
  EXPECT_EQ(quoted("\0"sv), "\"\\u0000\"");
  EXPECT_EQ(quoted("ä😀"), "\"ä😀\"");
}

TEST(JsonText, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(quoted("a\xff"
                   "b"),
            "\"a\xef\xbf\xbd"
            "b\"");
  EXPECT_EQ(quoted("\xc0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(quoted("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
  EXPECT_EQ(quoted("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST(ProblemDocument, SaysWhatAndWhere) {
  ByteBuffer out;
  append_problem(out, {.status = 400, .detail = "hits is wrong", .field = "hits", .title = {}});
  EXPECT_EQ(out.view(),
            R"({"type":"about:blank","title":"Bad Request","status":400,"detail":"hits is wrong",)"
            R"("field":"hits"})"
            "\n");
}

TEST(Query, DecodesPairsInOrder) {
  const auto query = parse_query("domain=a%20b&k=x+y&k=%00%ff&&flag&e=");
  ASSERT_TRUE(query);
  const Query expected{
      {"domain", "a b"}, {"k", "x y"}, {"k", std::string("\0\xff", 2)}, {"flag", ""}, {"e", ""}};
  EXPECT_EQ(*query, expected);
}

TEST(Query, RefusesBrokenEscapes) {
  for (const std::string_view text : {"a=%", "a=%1", "a=%zz", "a=%1z", "%=a"}) {
    EXPECT_FALSE(parse_query(text)) << text;
  }
}

TEST(Query, EncodesWhatItDecodes) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const auto query = parse_query("k=" + encode_query_part(all));
  ASSERT_TRUE(query);
  EXPECT_EQ(query->front().second, all);
}

TEST(FlatJson, ReadsStringsAndBooleans) {
  const auto object = FlatJson::parse(R"({"domain":"d","on":true})");
  ASSERT_TRUE(object);
  EXPECT_EQ(*object->string("domain"), "d");
  EXPECT_TRUE(*object->boolean("on"));
  EXPECT_EQ(object->string("on"), nullptr);
  EXPECT_EQ(object->boolean("off"), nullptr);
}

TEST(FlatJson, RefusesEverythingElse) {
  for (const std::string_view text : {"", "[]", "\"x\"", "true", "{\"a\":1}", "{\"a\":{}}",
                                      "{\"a\":[]}", "{\"a\":null}", "{\"a\":\"\",\"a\":\"\"}"}) {
    EXPECT_FALSE(FlatJson::parse(text)) << text;
  }
}

}  // namespace
}  // namespace sluice
