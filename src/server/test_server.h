// For tests: a server in this process on free ports, with a fake clock, and a client that speaks
// bytes, so that a test can say exactly what is on the wire.
#pragma once

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "config/rule_loader.h"
#include "server/server.h"
#include "sluice/fake_clock.h"

namespace sluice::server {

struct ReceivedResponse {
  int status = 0;
  std::map<std::string, std::string> fields;  // Names in lower case.
  std::string body;

  std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
};

// Blocking; gives up after ten seconds, so that a broken server fails a test instead of hanging it.
class TestClient {
 public:
  explicit TestClient(const net::Address& address) : socket_(context_) {
    if (address.is_unix()) {
      socket_.connect(boost::asio::local::stream_protocol::endpoint(address.path));
    } else {
      socket_.connect(boost::asio::ip::tcp::endpoint(boost::asio::ip::make_address(address.host),
                                                     address.port));
    }
    const timeval patience{10, 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  }

  void send(std::string_view bytes) {
    boost::system::error_code ignored;  // A server that refuses may have closed meanwhile.
    boost::asio::write(socket_, boost::asio::buffer(bytes), ignored);
  }
  ReceivedResponse get(std::string_view target, std::string_view method = "GET") {
    send(std::string(method) + " " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    return method == "HEAD" ? receive_head() : receive();
  }
  ReceivedResponse post(std::string_view target, std::string_view body,
                        std::string_view method = "POST") {
    send(request(target, body, method));
    return receive();
  }
  static std::string request(std::string_view target, std::string_view body,
                             std::string_view method = "POST") {
    return std::string(method) + " " + std::string(target) +
           " HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
  }

  // Status 0: the connection ended before a whole response.
  ReceivedResponse receive() {
    ReceivedResponse response = receive_head();
    if (response.status == 100 || response.status == 0) return response;
    const std::size_t bytes = std::stoul("0" + response.field("content-length"));
    while (received_.size() < bytes) {
      if (!read()) return {};
    }
    response.body = received_.substr(0, bytes);
    received_.erase(0, bytes);
    return response;
  }
  ReceivedResponse receive_head() {
    std::size_t end = 0;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      if (!read()) return {};
    }
    ReceivedResponse response = parse_head(received_.substr(0, end + 2));
    received_.erase(0, end + 4);
    return response;
  }
  // Whether the server has closed the connection, after what was received.
  bool is_at_end() { return received_.empty() && !read(); }
  void end_output() { socket_.shutdown(decltype(socket_)::shutdown_send); }

 private:
  bool read() {
    char bytes[4096];
    boost::system::error_code error;
    const std::size_t count = socket_.read_some(boost::asio::buffer(bytes), error);
    received_.append(bytes, count);
    return !error;
  }
  static ReceivedResponse parse_head(const std::string& head) {
    ReceivedResponse response;
    response.status = std::stoi(head.substr(9, 3));
    std::size_t at = head.find("\r\n") + 2;
    while (at < head.size()) {
      const std::size_t end = head.find("\r\n", at);
      const std::size_t colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      response.fields[name] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    return response;
  }

  boost::asio::io_context context_;
  boost::asio::generic::stream_protocol::socket socket_;
  std::string received_;
};

inline net::Address parse_address_or_die(std::string_view text) {
  auto address = net::parse_address(text);
  EXPECT_TRUE(address) << text;
  return address ? *address : net::Address{};
}

inline constexpr std::string_view kTestRules = R"(
domain: api
descriptors:
  - key: api_key
    rate_limit: {requests_per_unit: 2, unit: minute}
  - key: many
    rate_limit: {requests_per_unit: 1000000, unit: hour}
  - key: bucket
    rate_limit: {algorithm: token_bucket, requests_per_unit: 1, unit: second, burst: 3}
  - key: queue
    rate_limit: {algorithm: leaky_bucket, requests_per_unit: 1, unit: second, burst: 1}
  - key: job
    rate_limit: {algorithm: concurrency, requests_per_unit: 1, permit_ttl: 60s}
  - key: free
    rate_limit: {unlimited: true}
)";

// Serves kTestRules until it goes; what a test changes in `options` counts before start().
class TestServer {
 public:
  explicit TestServer(std::string_view rules = kTestRules) {
    options.listen.push_back({parse_address_or_die("127.0.0.1:0"), ""});
    options.admin = ListenOptions{parse_address_or_die("127.0.0.1:0"), ""};
    options.connection_limits.sweep_interval = net::Milliseconds{10};
    options.connection_limits.drain_idle = net::Milliseconds{50};
    options.connection_limits.linger_timeout = net::Milliseconds{50};
    options.version = "test";
    EngineOptions engine_options;
    engine_options.lanes = 2;
    engine_options.clock = &clock;
    engine_options.table.keys_max = 10'000;
    auto opened = Engine::open(engine_options);
    EXPECT_TRUE(opened);
    engine = std::move(*opened);
    LoadedRules loaded = parse_rules(rules, "test");
    for (const Problem& problem : loaded.errors) ADD_FAILURE() << problem_text(problem);
    EXPECT_TRUE(engine->replace_rules(std::make_shared<const RuleSet>(std::move(loaded.rules))));
  }
  ~TestServer() { stop(); }

  TestServer& start() {
    auto opened = Server::open(*engine, options);
    EXPECT_TRUE(opened) << (opened ? "" : opened.error().message);
    server = std::move(*opened);
    thread_ = std::thread([this] { server->run(); });
    return *this;
  }
  // Waits until everything is drained.
  void stop() {
    if (!thread_.joinable()) return;
    server->shut_down();
    thread_.join();
  }

  net::Address address() const { return server->addresses().front(); }
  TestClient client() const { return TestClient(address()); }
  TestClient admin() const { return TestClient(*server->admin_address()); }

  FakeClock clock{Instant{1'700'000'000'000'000'000}};  // 20 s into a minute.
  std::unique_ptr<Engine> engine;
  ServerOptions options;
  std::unique_ptr<Server> server;

 private:
  std::thread thread_;
};

inline std::string check_body(std::string_view key, std::string_view value, int hits = 1) {
  return R"({"domain":"api","descriptors":[{")" + std::string(key) + R"(":")" + std::string(value) +
         R"("}],"hits":)" + std::to_string(hits) + "}";
}

}  // namespace sluice::server
