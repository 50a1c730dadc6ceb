#include "net/loop.h"

#include <cstdio>
#include <ctime>
#include <utility>

#include <boost/asio/post.hpp>
#include <unistd.h>

#include "net/connection.h"

namespace sluice::net {
namespace {

namespace asio = boost::asio;

constexpr Milliseconds kDrainSweepInterval{50};

}  // namespace

Milliseconds coarse_now() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return Milliseconds{now.tv_sec * 1000 + now.tv_nsec / 1'000'000};
}

Loop::Loop(const ConnectionLimits& limits)
    : limits_(limits), context_(1), work_(context_.get_executor()), sweep_timer_(context_) {}

Loop::~Loop() {
  list_.clear();
}

void Loop::run() {
  context_.run();
}

void Loop::stop() noexcept {
  context_.stop();
}

void Loop::post(std::function<void()> task) {
  asio::post(context_, std::move(task));
}

void Loop::adopt(int socket, const SessionFactory& make_session) {
  connections_.fetch_add(1, std::memory_order_relaxed);
  asio::post(context_, [this, socket, &make_session] {
    try {
      add(socket, make_session);
    } catch (const std::exception&) {  // No memory for one more.
      connections_.fetch_sub(1, std::memory_order_relaxed);
    }
  });
}

void Loop::add(int socket, const SessionFactory& make_session) {
  Connection::Socket stream(context_.get_executor());
  boost::system::error_code error;
  stream.assign({AF_UNSPEC, 0}, socket, error);
  if (error) {
    ::close(socket);
    throw boost::system::system_error(error);
  }
  stream.non_blocking(true, error);
  auto connection = std::make_unique<Connection>(*this, std::move(stream));
  auto session = make_session(*connection);
  Connection& added = *connection;
  added.self_ = list_.insert(list_.end(), std::move(connection));
  arm_sweep();
  added.start(std::move(session));
}

void Loop::remove(Connection& connection) noexcept {
  list_.erase(connection.self_);
  connections_.fetch_sub(1, std::memory_order_relaxed);
  if (is_draining_ && list_.empty() && on_drained_) std::exchange(on_drained_, nullptr)();
}

void Loop::drain(std::function<void()> on_drained) {
  asio::post(context_, [this, on_drained = std::move(on_drained)]() mutable {
    is_draining_ = true;
    if (list_.empty()) return on_drained();
    on_drained_ = std::move(on_drained);
    for (const auto& connection : list_) connection->begin_drain();
    is_sweep_armed_ = false;  // Sooner than it was.
    arm_sweep();
  });
}

void Loop::arm_sweep() {
  if (is_sweep_armed_ || list_.empty()) return;
  is_sweep_armed_ = true;
  sweep_timer_.expires_after(is_draining_ ? kDrainSweepInterval : limits_.sweep_interval);
  sweep_timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    is_sweep_armed_ = false;
    sweep();
    arm_sweep();
  });
}

void Loop::sweep() {
  const Milliseconds now = coarse_now();
  for (auto next = list_.begin(); next != list_.end();) {
    Connection& connection = **next++;  // It may remove itself.
    connection.sweep(now);
  }
}

std::string_view Loop::date() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (now.tv_sec != date_second_) {
    date_second_ = now.tv_sec;
    std::tm utc{};
    gmtime_r(&now.tv_sec, &utc);
    std::strftime(date_, sizeof date_, "%a, %d %b %Y %H:%M:%S GMT", &utc);
  }
  return date_;
}

}  // namespace sluice::net
