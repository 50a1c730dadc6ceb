// The daemon without its command line: listeners, one event loop for each worker, the admin port,
// and the way to stop without losing what is in flight. The thread that calls run() accepts
// connections and serves the admin port; each worker's loop has a thread of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "net/address.h"
#include "net/listener.h"
#include "net/loop.h"
#include "server/admin/admin_handler.h"
#include "server/http/check_handler.h"
#include "server/http/token_gate.h"
#include "server/metrics_page.h"
#include "sluice/engine.h"
#include "sluice/vocabulary/error.h"
#include "wire/http1_request.h"

namespace sluice::server {

struct ListenOptions {
  net::Address address;
  std::string token;  // Bearer token that requests must carry; empty: none.
};

struct ServerOptions {
  std::vector<ListenOptions> listen;   // The data port; any number.
  std::optional<ListenOptions> admin;  // Beyond loopback only with a token.
  unsigned workers = 1;                // At least 1, and no more than the engine has lanes.
  http1::RequestLimits request_limits;
  net::ConnectionLimits connection_limits;
  std::size_t connections_max = 20'000;  // Of each listener.
  net::Milliseconds drain_timeout{std::chrono::seconds{25}};
  std::string version;
  std::function<std::string()> config_hash = [] { return std::string(); };  // Any thread.
};

class Server {
 public:
  // Binds every address; nothing is accepted before run(). `engine` outlives the server.
  // invalid_argument, with a one-line reason: an address is taken, or the admin port is open to
  // other machines without a token.
  static Result<std::unique_ptr<Server>> open(Engine& engine, ServerOptions options);
  ~Server();

  // With the ports that were given when 0 was asked for, in the order of the options.
  std::vector<net::Address> addresses() const;
  std::optional<net::Address> admin_address() const;

  // Serves until shut_down() has drained, on this thread and the workers'. Once.
  void run();

  // Not ready any more, no new connections, each answer closes its connection, idle ones are
  // closed soon; then run() returns, at the latest after drain_timeout. Any thread, any number of
  // times.
  void shut_down();

  // Where a caller may wait for signals and timers: run()'s thread.
  net::Loop& loop() noexcept { return control_; }

 private:
  // What one event loop needs for itself.
  struct Worker {
    explicit Worker(const net::ConnectionLimits& limits) : loop(limits) {}
    net::Loop loop;
    std::unique_ptr<CheckHandler> handler;
    std::vector<std::unique_ptr<TokenGate>> gates;  // One for each listener.
    std::thread thread;
  };

  Server(Engine& engine, ServerOptions options);
  Result<void> bind();
  Result<void> bind_admin();
  net::SessionFactory session_factory(HttpHandler& handler) const;
  ServerMetrics metrics() const;
  void begin_drain();
  void end_drain();

  Engine& engine_;
  const ServerOptions options_;
  std::atomic<bool> is_draining_{false};
  Readiness readiness_;
  net::Loop control_;
  boost::asio::steady_timer drain_timer_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::size_t undrained_ = 0;  // Workers; the control loop's.
  AdminHandler admin_handler_;
  TokenGate admin_gate_;
  std::vector<std::unique_ptr<net::Listener>> listeners_;
  std::unique_ptr<net::Listener> admin_listener_;
};

}  // namespace sluice::server
