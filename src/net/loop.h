// One event loop: a thread's worth of connections. A connection belongs to one loop for life, so
// nothing of it is ever shared between threads. Deadlines are coarse: one sweep over the
// connections, not a timer for each request.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string_view>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/byte_buffer.h"
#include "net/session.h"

namespace sluice::net {

using Milliseconds = std::chrono::milliseconds;

// Since an arbitrary start; within 4 ms of the monotonic clock, and cheap.
Milliseconds coarse_now() noexcept;

struct ConnectionLimits {
  Milliseconds idle_timeout{std::chrono::seconds{75}};     // Between requests.
  Milliseconds request_timeout{std::chrono::seconds{10}};  // First to last byte of a request.
  Milliseconds write_timeout{std::chrono::seconds{10}};    // The peer takes nothing for so long.
  Milliseconds linger_timeout{std::chrono::seconds{2}};    // After a refusal, for it to be read.
  Milliseconds sweep_interval{500};                        // How late a deadline may be noticed.
  Milliseconds drain_idle{1000};  // Draining: how long an idle connection is still listened to.
};

class Connection;

class Loop {
 public:
  explicit Loop(const ConnectionLimits& limits);
  ~Loop();  // Requires that run() is not running. Closes what is still open.
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // Serves until stop(), on the calling thread.
  void run();

  // Any thread. --------------------------------------------------------------------------------
  void stop() noexcept;
  void post(std::function<void()> task);
  // Takes over a connected stream socket; `make_session` outlives the loop.
  void adopt(int socket, const SessionFactory& make_session);
  // From now on every answer closes its connection and idle ones are closed soon; `on_drained` is
  // called on the loop's thread once, when none is left.
  void drain(std::function<void()> on_drained);
  std::size_t connections() const noexcept { return connections_.load(std::memory_order_relaxed); }
  std::uint64_t timeouts() const noexcept { return timeouts_.load(std::memory_order_relaxed); }

  // The loop's thread. -------------------------------------------------------------------------
  boost::asio::io_context& context() noexcept { return context_; }
  const ConnectionLimits& limits() const noexcept { return limits_; }
  bool is_draining() const noexcept { return is_draining_; }
  ByteBuffer& output() noexcept { return output_; }  // Empty between turns; shared by all.
  std::string_view date();                           // For a Date field; lasts until the next call.

 private:
  friend class Connection;
  void add(int socket, const SessionFactory& make_session);
  void remove(Connection& connection) noexcept;
  void arm_sweep();
  void sweep();

  const ConnectionLimits limits_;
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer sweep_timer_;
  bool is_sweep_armed_ = false;
  bool is_draining_ = false;
  std::function<void()> on_drained_;
  ByteBuffer output_;
  std::int64_t date_second_ = -1;
  char date_[40] = {};
  std::list<std::unique_ptr<Connection>> list_;
  std::atomic<std::size_t> connections_{0};
  std::atomic<std::uint64_t> timeouts_{0};
};

}  // namespace sluice::net
