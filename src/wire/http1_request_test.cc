#include "wire/http1_request.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace sluice::http1 {
namespace {

using Progress = RequestReader::Progress;

constexpr std::string_view kPost =
    "POST /v1/check?x=1 HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    "Content-Length: 4\r\n\r\nabcd";

struct ReadRequest {
  std::string bytes;
  RequestReader reader;
  Progress progress;

  explicit ReadRequest(std::string_view text, RequestLimits limits = {})
      : bytes(text), reader(limits), progress(reader.read(bytes)) {}
  const Request& request() const { return reader.request(); }
  unsigned status() const { return reader.refusal().status; }
};

TEST(RequestReader, ReadsARequestWithABody) {
  ReadRequest read(kPost);
  ASSERT_EQ(read.progress, Progress::complete);
  EXPECT_EQ(read.request().method, Method::post);
  EXPECT_EQ(read.request().path, "/v1/check");
  EXPECT_EQ(read.request().query, "x=1");
  EXPECT_EQ(read.request().content_type, "application/json");
  EXPECT_EQ(read.request().body, "abcd");
  EXPECT_TRUE(read.request().keeps_alive);
  EXPECT_EQ(read.reader.request_bytes(), kPost.size());
}

TEST(RequestReader, LeavesTheNextRequestAlone) {
  ReadRequest read(std::string(kPost) + "GET / HTTP/1.1\r\n");
  ASSERT_EQ(read.progress, Progress::complete);
  EXPECT_EQ(read.reader.request_bytes(), kPost.size());
}

TEST(RequestReader, ReadsAByteAtATimeFromABufferThatMoves) {
  RequestReader reader({});
  std::string bytes;
  for (std::size_t size = 1; size < kPost.size(); ++size) {
    std::string moved(kPost.substr(0, size));
    bytes.swap(moved);
    ASSERT_EQ(reader.read(bytes), Progress::need_more) << size;
  }
  std::string whole(kPost);
  ASSERT_EQ(reader.read(whole), Progress::complete);
  EXPECT_EQ(reader.request().body, "abcd");
  EXPECT_EQ(reader.request().path, "/v1/check");
}

TEST(RequestReader, IsReadyForTheNextRequestAfterAReset) {
  RequestReader reader({});
  std::string first(kPost);
  ASSERT_EQ(reader.read(first), Progress::complete);
  EXPECT_FALSE(reader.is_fresh());
  reader.reset();
  EXPECT_TRUE(reader.is_fresh());
  std::string second = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
  ASSERT_EQ(reader.read(second), Progress::complete);
  EXPECT_EQ(reader.request().method, Method::get);
  EXPECT_EQ(reader.request().body, "");
  EXPECT_EQ(reader.request().content_type, "");
}

TEST(RequestReader, LaysChunksTogether) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string body = "3\r\nabc\r\n2;ext=1\r\nde\r\n1\r\nf\r\n0\r\nTrailer: x\r\n\r\n";
  ReadRequest read(head + body);
  ASSERT_EQ(read.progress, Progress::complete);
  EXPECT_EQ(read.request().body, "abcdef");
  EXPECT_EQ(read.reader.request_bytes(), head.size() + body.size());
}

TEST(RequestReader, LaysChunksTogetherThatArriveByteByByte) {
  const std::string whole =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
  RequestReader reader({});
  std::string bytes;
  Progress progress = Progress::need_more;
  for (const char c : whole) {
    bytes += c;
    progress = reader.read(bytes);
  }
  ASSERT_EQ(progress, Progress::complete);
  EXPECT_EQ(reader.request().body, "abcde");
}

TEST(RequestReader, ReadsABodyOfNoChunksThatArrivesByteByByte) {
  RequestReader reader({});
  std::string bytes;
  Progress progress = Progress::need_more;
  for (const char c : std::string_view(
           "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")) {
    ASSERT_EQ(progress, Progress::need_more);
    bytes += c;
    progress = reader.read(bytes);
  }
  ASSERT_EQ(progress, Progress::complete);
  EXPECT_EQ(reader.request().body, "");
}

TEST(RequestReader, TakesNothingFromATrailer) {
  ReadRequest read(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
      "Authorization: Bearer x\r\nContent-Type: text/plain\r\n\r\n");
  ASSERT_EQ(read.progress, Progress::complete);
  EXPECT_EQ(read.request().authorization, "");
  EXPECT_EQ(read.request().content_type, "");
}

TEST(RequestReader, AsksOnceForTheBodyThatWaitsForAContinue) {
  const std::string head =
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
  ReadRequest read(head);
  ASSERT_EQ(read.progress, Progress::wants_continue);
  EXPECT_EQ(read.reader.read(read.bytes), Progress::need_more);
  read.bytes += "ok";
  EXPECT_EQ(read.reader.read(read.bytes), Progress::complete);
  EXPECT_EQ(read.reader.request().body, "ok");
}

TEST(RequestReader, SeesWhetherTheConnectionGoesOn) {
  EXPECT_FALSE(
      ReadRequest("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").request().keeps_alive);
  const ReadRequest old("GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(old.request().is_http10);
  EXPECT_FALSE(old.request().keeps_alive);
  EXPECT_TRUE(
      ReadRequest("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").request().keeps_alive);
}

TEST(RequestReader, FindsThePathInATargetForAProxy) {
  ReadRequest read("GET http://host:80/v1/check?a=b HTTP/1.1\r\nHost: host\r\n\r\n");
  ASSERT_EQ(read.progress, Progress::complete);
  EXPECT_EQ(read.request().path, "/v1/check");
  EXPECT_EQ(read.request().query, "a=b");
}

TEST(RequestReader, RefusesWhatIsNoHttp) {
  for (const std::string_view text :
       {"\x16\x03\x01\x02\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", "G\x01T / HTTP/1.1\r\nHost: a\r\n\r\n"}) {
    const ReadRequest read(text);
    EXPECT_EQ(read.progress, Progress::refused) << text;
    EXPECT_EQ(read.status(), 400) << text;
  }
  const ReadRequest future("GET / HTTP/2.0\r\nHost: a\r\n\r\n");
  EXPECT_EQ(future.progress, Progress::refused);
  EXPECT_EQ(future.status(), 505);
}

TEST(RequestReader, RefusesWhatTwoServersCouldReadInTwoWays) {
  const std::string post = "POST / HTTP/1.1\r\n";
  for (const std::string& fields : {
           std::string(""),                        // no Host
           std::string("Host: a\r\nHost: b\r\n"),  //
           std::string("Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n"),
           std::string("Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n"),
           std::string("Host: a\r\nContent-Length: -1\r\n"),
           std::string("Host: a\r\nContent-Length: 0x10\r\n"),
           std::string("Host: a\r\nContent-Length: 99999999999999999999\r\n"),
           std::string("Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
           std::string("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n"),
           std::string("Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
           std::string("Host: a\r\nTransfer-Encoding: gzip, chunked\r\n"),
           std::string("Host: a\r\nTransfer-Encoding: identity\r\n"),
       }) {
    const ReadRequest read(post + fields + "\r\n0\r\n\r\n");
    EXPECT_EQ(read.progress, Progress::refused) << fields;
    EXPECT_EQ(read.status(), 400) << fields;
  }
}

TEST(RequestReader, RefusesChunksWithoutASize) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string_view body : {"x\r\n", "3\r\nabcd\r\n0\r\n\r\n", "-1\r\n\r\n"}) {
    EXPECT_EQ(ReadRequest(head + std::string(body)).progress, Progress::refused) << body;
  }
}

TEST(RequestReader, RefusesABodyOverTheBoundBeforeItArrives) {
  const ReadRequest read("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n");
  EXPECT_EQ(read.progress, Progress::refused);
  EXPECT_EQ(read.status(), 413);
}

TEST(RequestReader, RefusesChunksOverTheBound) {
  std::string text = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 3; ++i) text += "3e8\r\n" + std::string(1000, 'x') + "\r\n";
  const ReadRequest read(text, {.body_bytes_max = 2000});
  EXPECT_EQ(read.progress, Progress::refused);
  EXPECT_EQ(read.status(), 413);
}

TEST(RequestReader, RefusesFramingWithoutEnd) {
  std::string text = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;";
  const RequestLimits limits{.header_bytes_max = 1000, .body_bytes_max = 1000};
  text += std::string(limits.request_bytes_max(), 'x');
  const ReadRequest read(text, limits);
  EXPECT_EQ(read.progress, Progress::refused);
}

TEST(RequestReader, RefusesAHeadOverTheBound) {
  const std::string long_field = "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(20'000, 'x');
  EXPECT_EQ(ReadRequest(long_field).status(), 431);
  EXPECT_EQ(ReadRequest(long_field + "\r\n\r\n").status(), 431);
  EXPECT_EQ(ReadRequest("GET /" + std::string(20'000, 'x')).status(), 414);
  EXPECT_EQ(
      ReadRequest("GET /" + std::string(9'000, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n").status(),
      414);
}

TEST(RequestReader, RefusesAHundredThousandHeaders) {
  std::string text = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 100'000; ++i) text += "a:b\r\n";
  const ReadRequest read(text + "\r\n");
  EXPECT_EQ(read.progress, Progress::refused);
  EXPECT_EQ(read.status(), 431);
  std::string few = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 100; ++i) few += "a:b\r\n";
  EXPECT_EQ(ReadRequest(few + "\r\n").status(), 431);
}

TEST(RequestReader, RefusesAnExpectationItDoesNotKnow) {
  EXPECT_EQ(ReadRequest("GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n").status(), 417);
}

}  // namespace
}  // namespace sluice::http1
