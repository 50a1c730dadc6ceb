#include "net/listener.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::net {
namespace {

namespace asio = boost::asio;
using asio::generic::stream_protocol;
using boost::system::error_code;

constexpr int kAcceptedInARow = 64;  // Then whatever else the loop has to do.
constexpr std::chrono::milliseconds kPause{100};

stream_protocol::endpoint endpoint_of(const Address& address) {
  if (address.is_unix()) return asio::local::stream_protocol::endpoint(address.path);
  return asio::ip::tcp::endpoint(asio::ip::make_address(address.host), address.port);
}

// Removes a socket that a process left behind. A file that is no socket, or a socket that answers,
// stays: bind() then says that the address is in use.
void remove_stale(const Address& address) {
  struct stat status {};
  if (::stat(address.path.c_str(), &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  asio::io_context context;
  asio::local::stream_protocol::socket socket(context);
  error_code error;
  socket.connect({address.path}, error);
  if (error == asio::error::connection_refused) ::unlink(address.path.c_str());
}

}  // namespace

Listener::Listener(Loop& accepting, Address address, std::vector<Destination> destinations,
                   std::size_t connections_max)
    : acceptor_(accepting.context().get_executor()),
      pause_timer_(accepting.context()),
      address_(std::move(address)),
      destinations_(std::move(destinations)),
      connections_max_(connections_max) {}

Listener::~Listener() {
  close();
}

Result<std::unique_ptr<Listener>> Listener::open(Loop& accepting, const Address& address,
                                                 std::vector<Destination> destinations,
                                                 std::size_t connections_max) {
  std::unique_ptr<Listener> listener(
      new Listener(accepting, address, std::move(destinations), connections_max));
  if (auto bound = listener->bind(); !bound) return bound.error();
  listener->wait();
  return listener;
}

Result<void> Listener::bind() {
  const auto failed = [&](const error_code& error) {
    return Error{ErrorCode::invalid_argument,
                 "cannot listen on " + address_.text() + ": " + error.message()};
  };
  error_code error;
  const auto endpoint = endpoint_of(address_);
  acceptor_.open(endpoint.protocol(), error);
  if (error) return failed(error);
  if (address_.is_unix()) {
    remove_stale(address_);
  } else {
    acceptor_.set_option(asio::socket_base::reuse_address(true), error);
  }
  acceptor_.bind(endpoint, error);
  if (error) {
    if (address_.is_unix()) address_.path.clear();  // Not ours to remove.
    return failed(error);
  }
  acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return failed(error);
  acceptor_.native_non_blocking(true, error);
  if (!address_.is_unix()) {
    asio::ip::tcp::endpoint bound;
    const auto local = acceptor_.local_endpoint(error);
    bound.resize(local.size());
    std::copy_n(static_cast<const char*>(static_cast<const void*>(local.data())), local.size(),
                static_cast<char*>(static_cast<void*>(bound.data())));
    address_.port = bound.port();
  }
  return {};
}

void Listener::wait() {
  acceptor_.async_wait(Acceptor::wait_read, [this](const error_code& error) {
    if (!error) accept_some();
  });
}

void Listener::accept_some() {
  for (int i = 0; i < kAcceptedInARow; ++i) {
    const int socket =
        ::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (socket < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return pause();
      if (errno == ECONNABORTED || errno == EINTR) continue;
      break;
    }
    std::size_t open = 0;
    for (const Destination& d : destinations_) open += d.loop->connections();
    if (open >= connections_max_) {
      ::close(socket);
      refused_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    if (!address_.is_unix()) {
      const int on = 1;
      ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    const auto fewest = std::min_element(
        destinations_.begin(), destinations_.end(),
        [](const auto& a, const auto& b) { return a.loop->connections() < b.loop->connections(); });
    fewest->loop->adopt(socket, fewest->make_session);
  }
  wait();
}

void Listener::pause() {
  pause_timer_.expires_after(kPause);
  pause_timer_.async_wait([this](const error_code& error) {
    if (!error && acceptor_.is_open()) wait();
  });
}

void Listener::close() noexcept {
  if (!acceptor_.is_open()) return;
  error_code ignored;
  acceptor_.close(ignored);
  pause_timer_.cancel();
  if (address_.is_unix()) ::unlink(address_.path.c_str());
}

}  // namespace sluice::net
