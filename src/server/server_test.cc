#include "server/server.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <list>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "server/rule_source.h"
#include "server/test_server.h"

namespace sluice::server {
namespace {

using net::Milliseconds;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Server, AllowsUpToTheLimitAndThenRefuses) {
  TestServer test;
  TestClient client = test.start().client();
  const ReceivedResponse first = client.post("/v1/check", check_body("api_key", "k"));
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(first.field("content-type"), "application/json");
  EXPECT_EQ(first.field("cache-control"), "no-store");
  EXPECT_EQ(first.field("ratelimit-policy"), "\"api_key\";q=2;w=60");
  EXPECT_EQ(first.field("ratelimit"), "\"api_key\";r=1;t=40");
  EXPECT_EQ(first.field("x-ratelimit-limit"), "2");
  EXPECT_EQ(first.field("x-ratelimit-remaining"), "1");
  EXPECT_EQ(first.field("x-ratelimit-reset"), "40");
  EXPECT_EQ(first.field("retry-after"), "");
  EXPECT_TRUE(has(first.body, R"({"verdict":"allowed","limit":2,"remaining":1,)")) << first.body;
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "k")).status, 200);

  const ReceivedResponse refused = client.post("/v1/check", check_body("api_key", "k"));
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.field("retry-after"), "40");
  EXPECT_EQ(refused.field("cache-control"), "no-store");
  EXPECT_TRUE(
      has(refused.body, R"("verdict":"denied","limit":2,"remaining":0,"retry_after_ms":40000)"))
      << refused.body;

  test.clock.advance(std::chrono::seconds{40});
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "k")).status, 200);
}

TEST(Server, SaysNeverToACostThatCannotFit) {
  TestServer test;
  TestClient client = test.start().client();
  for (const std::string_view hits : {"3", "4294967296", "18446744073709551616"}) {
    const std::string body =
        R"({"domain":"api","descriptors":[{"api_key":"n"}],"hits":)" + std::string(hits) + "}";
    const ReceivedResponse never = client.post("/v1/check", body);
    EXPECT_EQ(never.status, 429) << hits;
    EXPECT_EQ(never.field("retry-after"), "") << hits;
    EXPECT_TRUE(has(never.body, "\"retry_after_ms\":null")) << never.body;
  }
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "n", 2)).status, 200);
}

TEST(Server, AllowsWithoutRateFieldsWhatNoRuleMatchesAndWhatIsUnlimited) {
  TestServer test;
  TestClient client = test.start().client();
  for (const std::string& body : {check_body("unknown", "x"), check_body("free", "x"),
                                  std::string(R"({"domain":"none","descriptors":[{"a":"b"}]})")}) {
    const ReceivedResponse allowed = client.post("/v1/check", body);
    EXPECT_EQ(allowed.status, 200);
    EXPECT_EQ(allowed.field("ratelimit"), "");
    EXPECT_TRUE(has(allowed.body, R"({"verdict":"allowed","limit":null,"remaining":null)"))
        << allowed.body;
  }
}

TEST(Server, PeeksWithoutChargingAndGivesBackWhatARefundSays) {
  TestServer test;
  TestClient client = test.start().client();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(client.post("/v1/peek", check_body("api_key", "p", 2)).status, 200);
  }
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "p", 2)).status, 200);
  EXPECT_EQ(client.post("/v1/peek", check_body("api_key", "p")).status, 429);
  EXPECT_EQ(client.post("/v1/refund", check_body("api_key", "p")).status, 200);
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "p")).status, 200);
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "p")).status, 429);
  // More than was ever taken lifts nobody above the limit.
  EXPECT_EQ(client.post("/v1/refund", check_body("api_key", "p", 100)).status, 200);
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "p", 3)).status, 429);
}

TEST(Server, HandsOutAPermitAndTakesItBack) {
  TestServer test;
  TestClient client = test.start().client();
  const ReceivedResponse taken = client.post("/v1/check", check_body("job", "j"));
  ASSERT_EQ(taken.status, 200);
  const std::size_t at = taken.body.find("\"permit\":\"");
  ASSERT_NE(at, std::string::npos) << taken.body;
  const std::string permit = taken.body.substr(at + 10, taken.body.find('"', at + 10) - at - 10);
  EXPECT_EQ(client.post("/v1/check", check_body("job", "j")).status, 429);
  const std::string body = "{\"permit\":\"" + permit + "\"}";
  EXPECT_EQ(client.post("/v1/renew", body).status, 200);
  EXPECT_EQ(client.post("/v1/release", body).status, 200);
  EXPECT_EQ(client.post("/v1/release", body).status, 200);  // Twice is fine.
  EXPECT_EQ(client.post("/v1/check", check_body("job", "j")).status, 200);
  EXPECT_EQ(client.post("/v1/release", R"({"permit":"no such"})").status / 100, 4);
}

TEST(Server, SaysHowLongToHoldAShapedRequest) {
  TestServer test;
  TestClient client = test.start().client();
  EXPECT_TRUE(has(client.post("/v1/check", check_body("queue", "q")).body, "\"delay_ms\":0"));
  EXPECT_TRUE(has(client.post("/v1/check", check_body("queue", "q")).body, "\"delay_ms\":1000"));
  EXPECT_EQ(client.post("/v1/check", check_body("queue", "q")).status, 429);
}

TEST(Server, SpeaksTheJsonOfEnvoysRatelimit) {
  TestServer test;
  TestClient client = test.start().client();
  const std::string body =
      R"({"domain":"api","descriptors":[{"entries":[{"key":"api_key","value":"e"}]}],)"
      R"("hitsAddend":2})";
  const ReceivedResponse allowed = client.post("/json", body);
  EXPECT_EQ(allowed.status, 200);
  EXPECT_EQ(allowed.body,
            R"({"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"requestsPerUnit":2,)"
            R"("unit":"MINUTE"},"durationUntilReset":"40s"}]})");
  const ReceivedResponse refused = client.post("/json", body);
  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(has(refused.body, "OVER_LIMIT")) << refused.body;
  for (const std::string_view bad : {"", "}", "{\"foo\":1}"}) {
    const ReceivedResponse answer = client.post("/json", bad);
    EXPECT_EQ(answer.status, 400) << bad;
    EXPECT_EQ(answer.field("content-type"), "text/plain; charset=utf-8");
    EXPECT_EQ(answer.body, "Bad Request\n");
  }
}

TEST(Server, AnswersHealthChecksWithAndWithoutABody) {
  TestServer test;
  TestClient client = test.start().client();
  for (const std::string_view path : {"/healthz", "/readyz", "/healthz?from=lb"}) {
    EXPECT_EQ(client.get(path).body, "ok\n");
    const ReceivedResponse head = client.get(path, "HEAD");
    EXPECT_EQ(head.status, 200);
    EXPECT_EQ(head.field("content-length"), "3");
  }
  EXPECT_NE(client.get("/healthz").field("date"), "");
}

TEST(Server, SaysWhyItRefusesAPathAMethodAndAType) {
  TestServer test;
  TestClient client = test.start().client();
  const ReceivedResponse unknown = client.get("/v2/check");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.field("content-type"), "application/problem+json");
  const ReceivedResponse method = client.get("/v1/check");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.field("allow"), "POST");
  EXPECT_EQ(client.post("/healthz", "").field("allow"), "GET, HEAD");
  EXPECT_EQ(client.get("/v1/check", "BREW").status, 405);

  client.send(
      "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: "
      "2\r\n\r\n{}");
  EXPECT_EQ(client.receive().status, 415);
  client.send(
      "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: "
      "2\r\n\r\n{}");
  EXPECT_EQ(client.receive().status, 415);
  const std::string body = check_body("many", "x");
  client.send(
      "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: Application/JSON; charset=utf-8\r\n"
      "Content-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body);
  EXPECT_EQ(client.receive().status, 200);
}

TEST(Server, NamesTheFieldThatIsWrongAndGoesOn) {
  TestServer test;
  TestClient client = test.start().client();
  const ReceivedResponse bad =
      client.post("/v1/check", R"({"domain":"api","descriptors":[{"api_key":1}]})");
  EXPECT_EQ(bad.status, 400);
  EXPECT_TRUE(has(bad.body, R"("field":"descriptors[0].api_key")")) << bad.body;
  const ReceivedResponse bytes =
      client.post("/v1/check", "{\"domain\":\"api\",\"descriptors\":[{\"api_key\":\"\xff\"}]}");
  EXPECT_EQ(bytes.status, 400);
  EXPECT_TRUE(has(bytes.body, "not UTF-8: byte 0xff")) << bytes.body;
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "ok")).status, 200);
}

TEST(Server, NeverLetsALongKeyPassUnlimited) {
  TestServer test;
  test.options.request_limits.body_bytes_max = 200'000;
  TestClient client = test.start().client();
  for (const std::size_t bytes : {255U, 256U, 4096U}) {
    const std::string value(bytes, 'x');
    EXPECT_EQ(client.post("/v1/check", check_body("api_key", value, 2)).status, 200) << bytes;
    EXPECT_EQ(client.post("/v1/check", check_body("api_key", value)).status, 429) << bytes;
  }
  for (const std::size_t bytes : {65'535U, 65'536U}) {
    const ReceivedResponse refused =
        client.post("/v1/check", check_body("api_key", std::string(bytes, 'x')));
    EXPECT_EQ(refused.status, 400) << bytes;
    EXPECT_EQ(refused.field("content-type"), "application/problem+json");
  }
}

TEST(Server, KeepsKeysApartWhateverBytesTheyHold) {
  TestServer test;
  TestClient client = test.start().client();
  for (const std::string_view value : {"a", "a\\u0000", "a\\u0000b", "A", " a", "a ", "ä", "a:b"}) {
    EXPECT_EQ(client.post("/v1/check", check_body("api_key", value, 2)).status, 200) << value;
    EXPECT_EQ(client.post("/v1/check", check_body("api_key", value)).status, 429) << value;
  }
}

TEST(Server, AnswersPipelinedRequestsInOrder) {
  TestServer test;
  TestClient client = test.start().client();
  std::string all;
  for (int i = 0; i < 3; ++i) all += TestClient::request("/v1/check", check_body("api_key", "o"));
  client.send(all + "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.receive().status, 429);
  EXPECT_EQ(client.receive().body, "ok\n");
}

TEST(Server, AnswersAllThatAClientSendsBeforeItReads) {
  TestServer test;
  TestClient client = test.start().client();
  constexpr int kRequests = 20'000;  // More than the kernel's buffers hold: both sides must wait.
  std::thread sender([&client] {
    const std::string one = TestClient::request("/v1/check", check_body("many", "m"));
    std::string batch;
    for (int i = 0; i < 100; ++i) batch += one;
    for (int i = 0; i < kRequests / 100; ++i) client.send(batch);
  });
  int allowed = 0;
  for (int i = 0; i < kRequests; ++i) allowed += client.receive().status == 200 ? 1 : 0;
  sender.join();
  EXPECT_EQ(allowed, kRequests);
}

TEST(Server, ReadsARequestThatArrivesByteByByte) {
  TestServer test;
  TestClient client = test.start().client();
  for (const char c : TestClient::request("/v1/check", check_body("api_key", "b"))) {
    client.send(std::string(1, c));
  }
  EXPECT_EQ(client.receive().status, 200);
}

TEST(Server, AsksForABodyThatWaitsForIt) {
  TestServer test;
  TestClient client = test.start().client();
  const std::string body = check_body("api_key", "c");
  client.send("POST /v1/check HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n");
  EXPECT_EQ(client.receive().status, 100);
  client.send(body);
  EXPECT_EQ(client.receive().status, 200);
}

TEST(Server, ClosesTheConnectionWhenAskedTo) {
  TestServer test;
  test.start();
  TestClient client = test.client();
  client.send("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const ReceivedResponse last = client.receive();
  EXPECT_EQ(last.field("connection"), "close");
  EXPECT_TRUE(client.is_at_end());

  TestClient old = test.client();
  old.send("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(old.receive().field("connection"), "keep-alive");
  old.send("GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.receive().status, 200);
  EXPECT_TRUE(old.is_at_end());
}

TEST(Server, LetsTheRefusalOfALargeBodyBeRead) {
  TestServer test;
  TestClient client = test.start().client();
  client.send("POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n" +
              std::string(500'000, 'x'));
  const ReceivedResponse refused = client.receive();
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(refused.field("connection"), "close");
  EXPECT_TRUE(client.is_at_end());
}

TEST(Server, ServesOthersWhileOneSendsNonsense) {
  TestServer test;
  test.start();
  TestClient good = test.client();
  for (const std::string_view nonsense : {"\x16\x03\x01", "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n\r\n",
                                          "*1\r\n$4\r\nPING\r\n\r\n", "\0\0\0\0"}) {
    TestClient bad = test.client();
    bad.send(nonsense);
    bad.end_output();
    EXPECT_EQ(good.post("/v1/check", check_body("many", "g")).status, 200);
  }
  std::string headers = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 100'000; ++i) headers += "a:b\r\n";
  TestClient many = test.client();
  many.send(headers);
  EXPECT_EQ(many.receive().status, 431);
  EXPECT_EQ(good.get("/healthz").status, 200);
}

TEST(Server, GivesUpOnASlowRequestAndOnAnIdleConnection) {
  TestServer test;
  test.options.connection_limits.request_timeout = Milliseconds{60};
  test.options.connection_limits.idle_timeout = Milliseconds{60};
  test.start();
  TestClient slow = test.client();
  slow.send("POST /v1/check HTTP/1.1\r\nHo");
  EXPECT_EQ(slow.receive().status, 408);
  EXPECT_TRUE(slow.is_at_end());

  TestClient idle = test.client();
  EXPECT_EQ(idle.get("/healthz").status, 200);
  EXPECT_TRUE(idle.is_at_end());
  EXPECT_TRUE(test.client().is_at_end());  // One that never says anything.
}

TEST(Server, ClosesConnectionsOverTheBoundAtOnce) {
  TestServer test;
  test.options.connections_max = 2;
  test.start();
  TestClient first = test.client();
  TestClient second = test.client();
  EXPECT_EQ(first.get("/healthz").status, 200);
  EXPECT_EQ(second.get("/healthz").status, 200);
  EXPECT_TRUE(test.client().is_at_end());
  EXPECT_TRUE(has(test.admin().get("/metrics").body, "sluice_connections_refused_total 1"));
  EXPECT_EQ(first.get("/healthz").status, 200);
}

TEST(Server, SpreadsConnectionsOverItsWorkers) {
  TestServer test;
  test.options.workers = 2;
  test.start();
  std::list<TestClient> clients;
  for (int i = 0; i < 4; ++i) clients.emplace_back(test.address());
  int allowed = 0;
  for (TestClient& client : clients) {
    allowed += client.post("/v1/check", check_body("api_key", "w")).status == 200 ? 1 : 0;
  }
  EXPECT_EQ(allowed, 2);  // One count for both.
}

TEST(Server, FinishesWhatIsInFlightBeforeItStops) {
  TestServer test;
  test.start();
  TestClient half = test.client();
  TestClient idle = test.client();
  EXPECT_EQ(idle.get("/healthz").status, 200);
  const std::string request = TestClient::request("/v1/check", check_body("api_key", "d"));
  EXPECT_EQ(half.get("/healthz").status, 200);
  half.send(request.substr(0, 30));
  test.server->shut_down();
  while (test.admin().get("/readyz").status != 503) std::this_thread::yield();
  half.send(request.substr(30) + TestClient::request("/v1/check", check_body("api_key", "d")));
  const ReceivedResponse answer = half.receive();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("connection"), "close");
  EXPECT_TRUE(idle.is_at_end());
  test.stop();
}

TEST(Server, StopsAtTheDeadlineOfTheDrainWhoeverIsLeft) {
  TestServer test;
  test.options.drain_timeout = Milliseconds{50};
  test.start();
  TestClient half = test.client();
  EXPECT_EQ(half.get("/healthz").status, 200);
  half.send("POST /v1/check HTTP/1.1\r\n");
  test.stop();
  SUCCEED();
}

TEST(Server, ListensOnAUnixSocketAndReplacesAStaleOne) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("sluice-" + std::to_string(::getpid()) + ".sock"))
          .string();
  {
    boost::asio::io_context context;  // Bound once, never removed: what a crash leaves behind.
    boost::asio::local::stream_protocol::acceptor stale(context, {path});
  }
  TestServer test;
  test.options.listen = {{parse_address_or_die("unix:" + path), ""}};
  TestClient client = test.start().client();
  EXPECT_EQ(client.post("/v1/check", check_body("api_key", "u")).status, 200);

  ServerOptions second = test.options;
  EXPECT_FALSE(Server::open(*test.engine, second));  // It is live.
  test.stop();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Server, DoesNotReplaceAFileByASocket) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("sluice-" + std::to_string(::getpid()) + ".txt"))
          .string();
  std::ofstream(path) << "precious";
  TestServer test;
  test.options.listen = {{parse_address_or_die("unix:" + path), ""}};
  EXPECT_FALSE(Server::open(*test.engine, test.options));
  EXPECT_EQ(std::filesystem::file_size(path), 8);
  std::filesystem::remove(path);
}

TEST(Server, SaysInOneLineThatAnAddressIsTaken) {
  TestServer test;
  test.start();
  ServerOptions second = test.options;
  second.listen = {{test.address(), ""}};
  const auto opened = Server::open(*test.engine, second);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message,
            "cannot listen on " + test.address().text() + ": Address already in use");
}

TEST(Server, KeepsTheAdminPortFromOtherMachinesWithoutAToken) {
  TestServer test;
  test.options.admin = ListenOptions{parse_address_or_die("0.0.0.0:0"), ""};
  EXPECT_FALSE(Server::open(*test.engine, test.options));
  test.options.admin->token = "secret";
  EXPECT_TRUE(Server::open(*test.engine, test.options));
}

TEST(Server, AsksForTheTokenOfAListener) {
  TestServer test;
  test.options.listen.front().token = "secret";
  TestClient client = test.start().client();
  const ReceivedResponse refused = client.post("/v1/check", check_body("api_key", "t"));
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(refused.field("www-authenticate"), "Bearer");
  EXPECT_EQ(client.get("/healthz").status, 200);
  const auto with = [&](const std::string& token) {
    const std::string body = check_body("api_key", "t");
    client.send("POST /v1/check HTTP/1.1\r\nHost: a\r\nAuthorization: " + token +
                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
    return client.receive().status;
  };
  EXPECT_EQ(with("Bearer secret"), 200);
  EXPECT_EQ(with("bearer secret"), 200);
  EXPECT_EQ(with("Bearer secreT"), 401);
  EXPECT_EQ(with("Bearer secret2"), 401);
  EXPECT_EQ(with("Basic secret"), 401);
}

}  // namespace
}  // namespace sluice::server
