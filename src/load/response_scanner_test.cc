#include "load/response_scanner.h"

#include <vector>

#include <gtest/gtest.h>

namespace sluice::load {
namespace {

struct Seen : ResponseSink {
  void on_head(const ResponseHead& head) override {
    text += std::to_string(head.status) + (head.closes ? "! " : " ");
    if (const auto found = find_header(head.lines, "X-Instance-ID")) text += *found;
    text += '[';
  }
  void on_body(std::string_view bytes) override { text += bytes; }
  void on_end() override { text += ']'; }
  std::string text;
};

// The events of a stream, which must not depend on how it was cut into reads.
std::string events_of(std::string_view stream, ResponseScanner::Bodies bodies = {}) {
  std::string whole;
  for (const std::size_t step : {stream.size(), std::size_t{1}, std::size_t{7}}) {
    ResponseScanner scanner{bodies};
    Seen seen;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      const auto fed = scanner.feed(stream.substr(at, step), seen);
      if (!fed) return "error: " + fed.error().message;
    }
    const auto finished = scanner.finish(seen);
    if (!finished) seen.text += " cut";
    if (whole.empty()) whole = seen.text;
    EXPECT_EQ(seen.text, whole) << "in reads of " << step;
  }
  return whole;
}

TEST(ResponseScanner, ReadsAnswersOneAfterAnother) {
  EXPECT_EQ(events_of("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx-instance-id:  a \r\n\r\nhi"
                      "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n"
                      "HTTP/1.1 204\r\n\r\n"),
            "200 a[hi]429 []204 []");
}

TEST(ResponseScanner, SkipsInterimAnswers) {
  EXPECT_EQ(events_of("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length:1\r\n\r\nx"),
            "200 [x]");
}

TEST(ResponseScanner, JoinsChunks) {
  EXPECT_EQ(events_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "3;note=1\r\nabc\r\nA\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
                      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            "200 [abc0123456789]200 []");
}

TEST(ResponseScanner, KnowsWhenTheConnectionWillClose) {
  EXPECT_EQ(events_of("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"),
            "200! []");
  EXPECT_EQ(events_of("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"), "200! []");
  EXPECT_EQ(events_of("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n"),
            "200 []");
  EXPECT_EQ(events_of("HTTP/1.1 200 OK\r\n\r\nuntil the end"), "200! [until the end]");
}

TEST(ResponseScanner, ExpectsNoBodyOfAHeadRequest) {
  EXPECT_EQ(events_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
                      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                      ResponseScanner::Bodies::none),
            "200 []200 []");
}

TEST(ResponseScanner, SaysWhenAnAnswerWasCutShort) {
  EXPECT_EQ(events_of("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"), "200 [abc cut");
  EXPECT_EQ(events_of("HTTP/1.1 200 OK\r\nContent-"), " cut");
}

TEST(ResponseScanner, RefusesWhatIsNoAnswer) {
  for (const char* stream :
       {"SSH-2.0-x\r\n\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 099 No\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        "HTTP/1.1 101 Switching\r\n\r\n"}) {
    EXPECT_TRUE(events_of(stream).starts_with("error: ")) << stream;
  }
}

TEST(ResponseScanner, BoundsTheHead) {
  ResponseScanner scanner;
  Seen seen;
  ASSERT_TRUE(scanner.feed("HTTP/1.1 200 OK\r\n", seen).has_value());
  const std::string line = "X-Filler: " + std::string(1000, 'x') + "\r\n";
  std::size_t lines = 0;
  while (lines < 1000 && scanner.feed(line, seen).has_value()) ++lines;
  EXPECT_LT(lines, ResponseScanner::kHeadBytesMax / line.size() + 1);
}

TEST(ResponseScanner, FindsAHeaderWhateverItsCase) {
  const std::string_view lines = "A: 1\r\nRetry-After: 7\r\nretry-after: 8\r\n";
  EXPECT_EQ(find_header(lines, "retry-AFTER"), "7");
  EXPECT_EQ(find_header(lines, "Retry"), std::nullopt);
  EXPECT_EQ(find_header({}, "A"), std::nullopt);
}

}  // namespace
}  // namespace sluice::load
