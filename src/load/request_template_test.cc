#include "load/request_template.h"

#include <set>

#include <gtest/gtest.h>

namespace sluice::load {
namespace {

RequestParts parts_of(std::string method, std::string target, std::string body = {}) {
  RequestParts parts;
  parts.method = std::move(method);
  parts.url = {"h", "80", "h", std::move(target)};
  parts.body = std::move(body);
  return parts;
}

std::string written(const RequestParts& parts, std::uint64_t number) {
  auto made = RequestTemplate::make(parts);
  EXPECT_TRUE(made.has_value());
  std::string out;
  if (made) made->append(number, out);
  return out;
}

TEST(RequestTemplate, WritesAPlainRequest) {
  EXPECT_EQ(written(parts_of("GET", "/x"), 3), "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
}

TEST(RequestTemplate, SaysTheLengthOfTheBody) {
  RequestParts parts = parts_of("POST", "/x", R"({"a":"b"})");
  parts.headers = {"X-One: 1", "host: other"};
  EXPECT_EQ(written(parts, 0),
            "POST /x HTTP/1.1\r\nContent-Type: application/json\r\nX-One: 1\r\nhost: other\r\n"
            "Content-Length: 9\r\n\r\n{\"a\":\"b\"}");
  EXPECT_NE(written(parts_of("POST", "/x"), 0).find("Content-Length: 0\r\n"), std::string::npos);
}

TEST(RequestTemplate, WritesTheNumberWhereItIsAskedFor) {
  RequestParts parts = parts_of("POST", "/k/{i}", R"({"k":"{i}"})");
  parts.headers = {"Content-Type: text/plain", "X-Key: k{i}-{i}"};
  EXPECT_EQ(written(parts, 12345),
            "POST /k/12345 HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n"
            "X-Key: k12345-12345\r\nContent-Length: 13\r\n\r\n{\"k\":\"12345\"}");
}

TEST(RequestTemplate, DrawsRandomNumbersBelowTheBound) {
  auto made = RequestTemplate::make(parts_of("GET", "/{rand:3}"));
  ASSERT_TRUE(made.has_value());
  std::set<char> seen;
  for (std::uint64_t i = 0; i < 200; ++i) {
    std::string out;
    made->append(i, out);
    seen.insert(out[5]);
  }
  EXPECT_EQ(seen, (std::set<char>{'0', '1', '2'}));
}

TEST(RequestTemplate, RepeatsItsRandomNumbersForASeed) {
  auto first = RequestTemplate::make(parts_of("GET", "/{rand:1000000}"));
  auto second = RequestTemplate::make(parts_of("GET", "/{rand:1000000}"));
  ASSERT_TRUE(first && second);
  first->seed(9);
  second->seed(9);
  std::string a, b;
  for (std::uint64_t i = 0; i < 10; ++i) first->append(i, a), second->append(i, b);
  EXPECT_EQ(a, b);
}

TEST(RequestTemplate, LeavesOtherBracesAlone) {
  const std::string body = R"({"i":{},"x":"{ i }{rand}{j}"})";
  EXPECT_TRUE(written(parts_of("POST", "/", body), 5).ends_with("\r\n\r\n" + body));
}

TEST(RequestTemplate, TakesEverythingLiterallyWhenAskedTo) {
  auto made = RequestTemplate::make_verbatim(parts_of("POST", "/{i}", "{rand:0}"));
  ASSERT_TRUE(made.has_value());
  std::string out;
  made->append(7, out);
  EXPECT_TRUE(out.starts_with("POST /{i} HTTP/1.1\r\n"));
  EXPECT_TRUE(out.ends_with("Content-Length: 8\r\n\r\n{rand:0}"));
}

TEST(RequestTemplate, RefusesWhatWouldBreakTheFraming) {
  EXPECT_FALSE(RequestTemplate::make(parts_of("GE T", "/")).has_value());
  EXPECT_FALSE(RequestTemplate::make(parts_of("GET", "/{rand:0}")).has_value());
  EXPECT_FALSE(RequestTemplate::make(parts_of("GET", "/{rand:x}")).has_value());
  for (const char* header : {"NoColon", ": empty", "A b: c", "X: a\r\nY: b", "Content-Length: 5",
                             "transfer-encoding: chunked"}) {
    RequestParts parts = parts_of("GET", "/");
    parts.headers = {header};
    EXPECT_FALSE(RequestTemplate::make(parts).has_value()) << header;
  }
}

}  // namespace
}  // namespace sluice::load
