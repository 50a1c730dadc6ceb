// The loop. A connection with room that finds no request due waits in its target's line; when one
// comes due the first in line takes it, so an open loop spreads over all connections. Connections
// are looked at one by one only every kSweepEvery, for timeouts and reconnects.
#include "load/load_run.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <memory>

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>

#include "load/load_connection.h"
#include "load/load_schedule.h"

namespace sluice::load {
namespace {

constexpr Duration kSweepEvery = std::chrono::milliseconds{20};
constexpr Duration kProgressEvery = std::chrono::milliseconds{250};
constexpr Duration kBackoffMin = std::chrono::milliseconds{10};
constexpr Duration kBackoffMax = std::chrono::milliseconds{500};
constexpr std::size_t kReadBytes = std::size_t{64} * 1024;
constexpr int kEventsMax = 512;

struct Peer {  // A connection and what the loop knows of it.
  explicit Peer(std::size_t target, const LoadPlan& plan, LoadTally& tally)
      : connection(target, plan, tally) {}

  LoadConnection connection;
  std::size_t address = 0;  // Which of the target's is tried.
  Duration backoff = kBackoffMin;
  Instant retry_at{0};
  std::uint32_t watched = 0;  // What epoll watches its descriptor for.
  bool is_in_line = false;
};

struct Target {
  RequestTemplate request;
  std::vector<Address> addresses;
  std::deque<Peer*> line;
  std::string name;
};

class Run {
 public:
  Run(const LoadPlan& plan, const Clock& clock)
      : plan_(plan), clock_(clock), schedule_(plan), tally_(plan) {}

  Result<void> open();
  Result<void> connect_all(const std::atomic<bool>& is_stopped);
  void loop(const std::atomic<bool>& is_stopped, const LoadProgress& progress);
  LoadTally take_tally() { return std::move(tally_); }

 private:
  bool is_done(Instant now) const { return in_flight_ == 0 && schedule_.is_over(now); }
  void turn();
  void on_event(Peer& peer, std::uint32_t events, Instant now);
  void connect(Peer& peer, Instant now);
  void connect_failed(Peer& peer, std::string_view why, Instant now);
  void after_close(Peer& peer, Instant now);
  void fill(Peer& peer, Instant now);
  void serve_lines(Instant now);
  void sweep(Instant now);
  void watch(Peer& peer, std::uint32_t events);
  void arm_timer(Instant now);

  const LoadPlan& plan_;
  const Clock& clock_;
  LoadSchedule schedule_;
  LoadTally tally_;
  std::vector<Target> targets_;
  std::vector<std::unique_ptr<Peer>> peers_;
  FileDescriptor epoll_;
  FileDescriptor timer_;
  std::vector<char> scratch_ = std::vector<char>(kReadBytes);
  std::vector<epoll_event> events_ = std::vector<epoll_event>(kEventsMax);
  std::size_t in_flight_ = 0;
  std::size_t connecting_ = 0;
  std::string connect_error_;  // The latest.
  bool is_begun_ = false;
  Instant swept_at_{0};
};

// Lets the process hold the plan's connections if the hard limit does.
Result<void> raise_open_files(std::uint64_t wanted) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur >= wanted) return {};
  files.rlim_cur = std::min<rlim_t>(files.rlim_max, wanted);
  if (::setrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= wanted) return {};
  return Error{ErrorCode::overloaded, std::to_string(wanted) + " open files are needed, " +
                                          std::to_string(files.rlim_max) + " allowed (ulimit -Hn)"};
}

Result<void> Run::open() {
  constexpr std::uint64_t kOtherFiles = 32;
  if (auto raised = raise_open_files(plan_.connections + kOtherFiles); !raised) return raised;
  for (std::size_t t = 0; t < plan_.targets.size(); ++t) {
    auto request = RequestTemplate::make(plan_.targets[t]);
    if (!request) return request.error();
    request->seed(plan_.seed + t);
    auto addresses = resolve(plan_.targets[t].url);
    if (!addresses) return addresses.error();
    targets_.push_back(
        {std::move(*request), std::move(*addresses), {}, plan_.targets[t].url.authority});
  }
  std::size_t connections = std::max<std::size_t>(plan_.connections, targets_.size());
  if (plan_.requests)
    connections = std::min(connections, std::max(*plan_.requests, targets_.size()));
  for (std::size_t c = 0; c < connections; ++c) {
    peers_.push_back(std::make_unique<Peer>(c % targets_.size(), plan_, tally_));
  }
  epoll_ = FileDescriptor{::epoll_create1(EPOLL_CLOEXEC)};
  timer_ = FileDescriptor{::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.ptr = nullptr;
  if (epoll_.get() < 0 || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, timer_.get(), &event) != 0) {
    return Error{ErrorCode::overloaded, error_text(errno)};
  }
  return {};
}

// The clock of the run starts when every connection is there or has failed once.
Result<void> Run::connect_all(const std::atomic<bool>& is_stopped) {
  swept_at_ = clock_.now();
  for (const auto& peer : peers_) connect(*peer, swept_at_);
  while (connecting_ > 0 && !is_stopped) turn();
  const bool is_any_open = std::any_of(peers_.begin(), peers_.end(), [](const auto& peer) {
    return peer->connection.state() == LoadConnection::State::open;
  });
  if (!is_any_open && !is_stopped) {
    return Error{ErrorCode::store_unavailable,
                 "cannot connect to " + targets_[0].name + ": " + connect_error_};
  }
  return {};
}

void Run::loop(const std::atomic<bool>& is_stopped, const LoadProgress& progress) {
  const Instant begin = clock_.now();
  Instant told_at = begin;
  schedule_.begin(begin);
  is_begun_ = true;
  for (const auto& peer : peers_) fill(*peer, begin);
  Instant now = begin;
  while (!is_done(now)) {
    if (is_stopped) schedule_.stop();
    turn();
    now = clock_.now();
    if (now - told_at < kProgressEvery) continue;
    told_at = now;
    tally_.finished(now - begin, 0);
    if (progress) progress(tally_);
  }
  tally_.finished(now - begin, schedule_.unsent(now));
}

void Run::turn() {
  if (plan_.per_second > 0) arm_timer(clock_.now());
  const auto wait_ms = std::chrono::duration_cast<std::chrono::milliseconds>(kSweepEvery).count();
  const int ready =
      ::epoll_wait(epoll_.get(), events_.data(), kEventsMax, static_cast<int>(wait_ms));
  Instant now = clock_.now();
  for (int i = 0; i < ready; ++i) {
    if (events_[i].data.ptr == nullptr) continue;  // The timer: serve_lines() below.
    now = clock_.now();
    on_event(*static_cast<Peer*>(events_[i].data.ptr), events_[i].events, now);
  }
  if (plan_.per_second > 0) serve_lines(now);
  if (now - swept_at_ >= kSweepEvery) sweep(now);
}

void Run::on_event(Peer& peer, std::uint32_t events, Instant now) {
  LoadConnection& connection = peer.connection;
  if (connection.state() == LoadConnection::State::connecting) {
    --connecting_;
    const auto connected = connection.connected();
    if (!connected) return connect_failed(peer, connected.error().message, now);
    peer.backoff = kBackoffMin;
    watch(peer, EPOLLIN);
  } else if ((events & ~std::uint32_t{EPOLLOUT}) != 0) {
    const std::size_t before = connection.in_flight();
    connection.read(scratch_, now);
    in_flight_ -= before - connection.in_flight();
    if (connection.state() == LoadConnection::State::closed) return after_close(peer, now);
  }
  fill(peer, now);
}

void Run::connect(Peer& peer, Instant now) {
  const Target& target = targets_[peer.connection.target()];
  if (auto begun = peer.connection.connect(target.addresses[peer.address], now); !begun) {
    return connect_failed(peer, begun.error().message, now);
  }
  ++connecting_;
  peer.watched = 0;
  watch(peer, EPOLLOUT);
}

// Tries the host's next address; after the last one the request that would have gone out has
// failed.
void Run::connect_failed(Peer& peer, std::string_view why, Instant now) {
  const Target& target = targets_[peer.connection.target()];
  connect_error_ = why;
  peer.address = (peer.address + 1) % target.addresses.size();
  if (peer.address != 0) return connect(peer, now);
  peer.retry_at = now + peer.backoff;
  peer.backoff = std::min(peer.backoff * 2, kBackoffMax);
  if (!is_begun_ || !schedule_.take(peer.connection.target(), now)) return;
  tally_.request_started();
  tally_.failed(Failure::connect, 1, target.name + ": " + connect_error_);
}

void Run::after_close(Peer& peer, Instant now) {
  if (is_begun_ && !schedule_.is_over(now)) connect(peer, now);
}

// Gives the connection what is due, and its place in the line if it could take more.
void Run::fill(Peer& peer, Instant now) {
  LoadConnection& connection = peer.connection;
  Target& target = targets_[connection.target()];
  while (is_begun_ && connection.has_room()) {
    const auto start = schedule_.take(connection.target(), now);
    if (!start) break;
    connection.add(target.request, *start, now);
    ++in_flight_;
    if (plan_.per_second > 0) break;  // The next one is another connection's.
  }
  if (connection.has_unsent()) connection.flush();
  watch(peer, connection.has_unsent() ? EPOLLIN | EPOLLOUT : EPOLLIN);
  if (plan_.per_second > 0 && connection.has_room() && !peer.is_in_line) {
    peer.is_in_line = true;
    target.line.push_back(&peer);
  }
}

void Run::serve_lines(Instant now) {
  if (!is_begun_ || schedule_.is_over(now)) return;
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    std::deque<Peer*>& line = targets_[t].line;
    while (!line.empty() && schedule_.next_due(t) <= now) {
      Peer& peer = *line.front();
      line.pop_front();
      peer.is_in_line = false;
      if (peer.connection.has_room()) fill(peer, now);
    }
  }
}

void Run::sweep(Instant now) {
  swept_at_ = now;
  for (const auto& each : peers_) {
    Peer& peer = *each;
    LoadConnection& connection = peer.connection;
    const Instant since = connection.waiting_since();
    if (connection.state() == LoadConnection::State::closed) {
      if (now >= peer.retry_at) after_close(peer, now);
    } else if (since != kInstantMax && now - since > plan_.timeout) {
      const bool was_connecting = connection.state() == LoadConnection::State::connecting;
      in_flight_ -= connection.in_flight();
      connection.close(Failure::timeout, "no answer in time");
      if (was_connecting) {
        --connecting_;
        connect_failed(peer, "no connection in time", now);
      } else {
        after_close(peer, now);
      }
    }
  }
}

void Run::watch(Peer& peer, std::uint32_t events) {
  if (peer.watched == events) return;
  epoll_event event{};
  event.events = events;
  event.data.ptr = &peer;
  const int change = peer.watched == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  ::epoll_ctl(epoll_.get(), change, peer.connection.fd(), &event);
  peer.watched = events;
}

// Wakes the loop when the next request is due that a waiting connection could take.
void Run::arm_timer(Instant now) {
  Instant due = kInstantMax;
  for (std::size_t t = 0; t < targets_.size(); ++t) {
    if (!targets_[t].line.empty()) due = std::min(due, schedule_.next_due(t));
  }
  if (due == kInstantMax) return;
  const std::int64_t wait = std::max<std::int64_t>((due - now).count(), 1);
  itimerspec timer{};
  timer.it_value.tv_sec = wait / 1'000'000'000;
  timer.it_value.tv_nsec = wait % 1'000'000'000;
  ::timerfd_settime(timer_.get(), 0, &timer, nullptr);
}

}  // namespace

Result<LoadTally> run_load(const LoadPlan& plan, const Clock& clock,
                           const std::atomic<bool>& is_stopped, const LoadProgress& progress) {
  Run run{plan, clock};
  if (auto opened = run.open(); !opened) return opened.error();
  if (auto connected = run.connect_all(is_stopped); !connected) return connected.error();
  run.loop(is_stopped, progress);
  return run.take_tally();
}

}  // namespace sluice::load
