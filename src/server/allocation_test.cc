// A request in steady state costs no memory: every allocation of this process is counted while a
// warm server answers. The sanitizers have an allocator of their own: built without them only.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/test_server.h"

namespace {
std::atomic<std::size_t> allocations{0};
}  // namespace

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(old, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
}

namespace sluice::server {
namespace {

// Sends and receives without memory of its own.
class QuietClient {
 public:
  explicit QuietClient(const net::Address& address) : socket_(context_) {
    socket_.connect({boost::asio::ip::make_address(address.host), address.port});
  }
  void exchange(const std::string& request, int requests) {
    for (int i = 0; i < requests; ++i) {
      socket_.write_some(boost::asio::buffer(request));
      bytes_ += socket_.read_some(boost::asio::buffer(room_));
    }
  }
  std::string_view room() const { return {room_, sizeof room_}; }
  std::size_t bytes() const { return bytes_; }

 private:
  boost::asio::io_context context_;
  boost::asio::ip::tcp::socket socket_;
  char room_[8192] = {};
  std::size_t bytes_ = 0;
};

std::size_t allocations_of(const std::string& request, const std::string& status) {
  TestServer test;
  test.start();
  QuietClient client(test.address());
  client.exchange(request, 300);  // Buffers and pools grow to what they need.
  EXPECT_EQ(client.room().substr(9, 3), status);
  const std::size_t before = allocations.load();
  client.exchange(request, 1000);
  return allocations.load() - before;
}

TEST(SteadyState, AllocatesNothingForAnAllowedRequest) {
  EXPECT_EQ(allocations_of(TestClient::request("/v1/check", check_body("many", "k")), "200"), 0);
}

TEST(SteadyState, AllocatesNothingForARefusedRequest) {
  EXPECT_EQ(allocations_of(TestClient::request("/v1/check", check_body("api_key", "k")), "429"), 0);
}

TEST(SteadyState, AllocatesNothingForEscapesAndTheLongForm) {
  const std::string body =
      R"({"domain":"api","hits":1,"descriptors":[{"entries":[{"key":"many","value":"\u00e4\n"}],)"
      R"("hits":1},{"api_key":"x"},{"bucket":"b\"c"}]})";
  EXPECT_EQ(allocations_of(TestClient::request("/v1/check", body), "429"), 0);
}

TEST(SteadyState, AllocatesNothingForTheJsonOfEnvoysRatelimit) {
  const std::string body =
      R"({"domain":"api","descriptors":[{"entries":[{"key":"many","value":"v"}]}]})";
  EXPECT_EQ(allocations_of(TestClient::request("/json", body), "200"), 0);
}

}  // namespace
}  // namespace sluice::server
