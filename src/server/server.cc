#include "server/server.h"

#include <utility>

#include "server/http/http_session.h"

namespace sluice::server {

Server::Server(Engine& engine, ServerOptions options)
    : engine_(engine),
      options_(std::move(options)),
      readiness_([this] {
        return is_draining_.load(std::memory_order_relaxed) ? std::string_view("shutting down")
                                                            : std::string_view();
      }),
      control_(options_.connection_limits),
      drain_timer_(control_.context()),
      admin_handler_(engine, readiness_, [this] { return metrics(); }),
      admin_gate_(options_.admin ? options_.admin->token : std::string(), admin_handler_) {
  for (unsigned lane = 0; lane < options_.workers; ++lane) {
    auto worker = std::make_unique<Worker>(options_.connection_limits);
    worker->handler = std::make_unique<CheckHandler>(engine_, lane, readiness_);
    workers_.push_back(std::move(worker));
  }
}

Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::open(Engine& engine, ServerOptions options) {
  std::unique_ptr<Server> server(new Server(engine, std::move(options)));
  if (auto bound = server->bind(); !bound) return bound.error();
  if (auto bound = server->bind_admin(); !bound) return bound.error();
  return server;
}

net::SessionFactory Server::session_factory(HttpHandler& handler) const {
  return [this, &handler](net::Connection& connection) -> std::unique_ptr<net::Session> {
    return std::make_unique<HttpSession>(connection, options_.request_limits, handler);
  };
}

Result<void> Server::bind() {
  for (const ListenOptions& listen : options_.listen) {
    std::vector<net::Destination> destinations;
    for (const auto& worker : workers_) {
      worker->gates.push_back(std::make_unique<TokenGate>(listen.token, *worker->handler));
      destinations.push_back({&worker->loop, session_factory(*worker->gates.back())});
    }
    auto listener = net::Listener::open(control_, listen.address, std::move(destinations),
                                        options_.connections_max);
    if (!listener) return listener.error();
    listeners_.push_back(std::move(*listener));
  }
  return {};
}

Result<void> Server::bind_admin() {
  if (!options_.admin) return {};
  const ListenOptions& admin = *options_.admin;
  if (!admin.address.is_loopback() && admin.token.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "admin: " + admin.address.text() +
                     " can be reached from other machines; give admin.token_file, or listen on "
                     "127.0.0.1"};
  }
  auto listener =
      net::Listener::open(control_, admin.address, {{&control_, session_factory(admin_gate_)}},
                          options_.connections_max);
  if (!listener) return listener.error();
  admin_listener_ = std::move(*listener);
  return {};
}

std::vector<net::Address> Server::addresses() const {
  std::vector<net::Address> addresses;
  for (const auto& listener : listeners_) addresses.push_back(listener->address());
  return addresses;
}

std::optional<net::Address> Server::admin_address() const {
  if (admin_listener_ == nullptr) return std::nullopt;
  return admin_listener_->address();
}

ServerMetrics Server::metrics() const {
  ServerMetrics metrics;
  for (const auto& worker : workers_) {
    metrics.connections += worker->loop.connections();
    metrics.connection_timeouts += worker->loop.timeouts();
  }
  for (const auto& listener : listeners_) metrics.connections_refused += listener->refused();
  metrics.version = options_.version;
  metrics.config_hash = options_.config_hash();
  return metrics;
}

void Server::run() {
  for (const auto& worker : workers_) {
    worker->thread = std::thread([loop = &worker->loop] { loop->run(); });
  }
  control_.run();
  for (const auto& worker : workers_) {
    worker->loop.stop();
    worker->thread.join();
  }
}

void Server::shut_down() {
  control_.post([this] { begin_drain(); });
}

void Server::begin_drain() {
  if (is_draining_.exchange(true)) return;
  for (const auto& listener : listeners_) listener->close();
  undrained_ = workers_.size();
  drain_timer_.expires_after(options_.drain_timeout);
  drain_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) end_drain();
  });
  for (const auto& worker : workers_) {
    worker->loop.drain([this] {
      control_.post([this] {
        if (--undrained_ == 0) end_drain();
      });
    });
  }
}

void Server::end_drain() {
  control_.stop();
}

}  // namespace sluice::server
