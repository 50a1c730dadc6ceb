// A listening socket: accepts on its own loop and hands each connection to the loop that has the
// fewest. Over the bound on connections, or without file descriptors, it stops accepting for a
// moment instead of spinning; what waits stays in the kernel's queue.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>

#include "net/address.h"
#include "net/loop.h"
#include "net/session.h"
#include "sluice/vocabulary/error.h"

namespace sluice::net {

// One loop that a listener may hand connections to, and what speaks there.
struct Destination {
  Loop* loop = nullptr;
  SessionFactory make_session;
};

class Listener {
 public:
  // Binds and listens; accepts once the loop runs. invalid_argument with a one-line reason: the
  // address is taken, or not ours. A stale unix socket is replaced, a live one is "taken".
  static Result<std::unique_ptr<Listener>> open(Loop& accepting, const Address& address,
                                                std::vector<Destination> destinations,
                                                std::size_t connections_max);
  ~Listener();

  // With the port that was given when 0 was asked for.
  const Address& address() const noexcept { return address_; }
  // Connections that were closed at once because connections_max were open. Any thread.
  std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }

  // No new connections from here on. The accepting loop's thread, or before it runs.
  void close() noexcept;

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol,
                                                      boost::asio::io_context::executor_type>;

  Listener(Loop& accepting, Address address, std::vector<Destination> destinations,
           std::size_t connections_max);
  Result<void> bind();
  void wait();
  void accept_some();
  void pause();

  Acceptor acceptor_;
  boost::asio::steady_timer pause_timer_;
  Address address_;
  std::vector<Destination> destinations_;
  std::size_t connections_max_;
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace sluice::net
