#include "net/connection.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/buffer.hpp>

namespace sluice::net {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kReadBytes = 2048;        // Enough for a request; all that an idle one holds.
constexpr std::size_t kReadBytesLarge = 16384;  // For pipelining and bodies.
constexpr std::size_t kKeptBytesMax = 32768;    // A larger buffer is given back when empty.
constexpr std::size_t kLingeredBytesMax = std::size_t{1} << 20;

}  // namespace

Connection::Connection(Loop& loop, Socket socket) : loop_(loop), socket_(std::move(socket)) {}

void Connection::start(std::unique_ptr<Session> session) {
  session_ = std::move(session);
  set_deadline(loop_.is_draining() ? loop_.limits().drain_idle : loop_.limits().request_timeout);
  read();
}

void Connection::set_deadline(Milliseconds from_now) noexcept {
  deadline_ = coarse_now() + from_now;
}

void Connection::read() {
  if (in_.is_empty() && in_.capacity() > kKeptBytesMax) in_.release();
  const bool is_large = did_read_fill_ || !in_.is_empty();
  const auto room = in_.free_space(is_large ? kReadBytesLarge : kReadBytes);
  is_operation_pending_ = true;
  socket_.async_read_some(
      asio::buffer(room.data(), room.size()),
      [this, room_bytes = room.size()](const error_code& error, std::size_t bytes) {
        did_read_fill_ = bytes == room_bytes;
        on_read(error, bytes);
      });
}

void Connection::on_read(const error_code& error, std::size_t bytes) {
  is_operation_pending_ = false;
  if (phase_ == Phase::closed || error) return close();
  if (phase_ == Phase::lingering) {
    lingered_bytes_ += bytes;
    return lingered_bytes_ > kLingeredBytesMax ? close() : read();
  }
  in_.grow_by(bytes);
  advance();
}

// Lets the session at what has been read, sends what it says, and goes on as it wants.
void Connection::advance() {
  try {
    for (;;) {
      const auto progress = session_->receive(in_.bytes(), loop_.output());
      in_.take_front(progress.consumed);
      const bool is_new_request = state_ != Session::State::receiving || progress.consumed > 0;
      state_ = progress.state;
      if (state_ == Session::State::receiving && is_new_request) {
        set_deadline(loop_.limits().request_timeout);
      }
      if (!flush()) return;
      if (state_ != Session::State::full) return settle(state_);
    }
  } catch (const std::exception&) {  // No memory for this peer: it alone pays.
    loop_.output().clear();
    close();
  }
}

void Connection::settle(Session::State state) {
  switch (state) {
    case Session::State::idle:
      set_deadline(loop_.is_draining() ? loop_.limits().drain_idle : loop_.limits().idle_timeout);
      return read();
    case Session::State::receiving:
      return read();
    case Session::State::full:
      return advance();
    case Session::State::busy:
      deadline_ = Milliseconds::max();  // The answer has a deadline of its own.
      return;
    case Session::State::closing:
      return close();
    case Session::State::refused:
      return linger();
  }
}

// Sends what the loop's output holds. False: the peer does not take it all (on_writable goes on) or
// is gone.
bool Connection::flush() {
  ByteBuffer& out = loop_.output();
  if (out.is_empty()) return true;
  error_code error;
  const std::size_t sent = socket_.write_some(asio::buffer(out.view()), error);
  if (error && error != asio::error::would_block) {
    out.clear();
    close();
    return false;
  }
  out.take_front(sent);
  if (out.is_empty()) return true;
  unsent_.append(out.view());
  out.clear();
  set_deadline(loop_.limits().write_timeout);
  is_operation_pending_ = true;
  socket_.async_wait(Socket::wait_write, [this](const error_code& e) { on_writable(e); });
  return false;
}

void Connection::on_writable(const error_code& error) {
  is_operation_pending_ = false;
  if (phase_ == Phase::closed || error) return close();
  std::swap(loop_.output(), unsent_);
  if (!flush()) return;
  unsent_.release();
  settle(state_);
}

void Connection::resume() {
  state_ = Session::State::full;
  if (phase_ == Phase::closed) {
    loop_.output().clear();
    return close();
  }
  if (flush()) advance();
}

// Closing with unread bytes would reset the connection and take the answer from the peer.
void Connection::linger() {
  error_code error;
  socket_.shutdown(Socket::shutdown_send, error);
  if (error) return close();
  phase_ = Phase::lingering;
  in_.clear();
  set_deadline(loop_.limits().linger_timeout);
  read();
}

// Gone for the peer at once; the object goes when nothing refers to it any more.
void Connection::close() noexcept {
  phase_ = Phase::closed;
  error_code ignored;
  socket_.close(ignored);
  if (!is_operation_pending_ && state_ != Session::State::busy) loop_.remove(*this);
}

void Connection::begin_drain() noexcept {
  if (phase_ == Phase::serving && state_ == Session::State::idle) {
    deadline_ = std::min(deadline_, coarse_now() + loop_.limits().drain_idle);
  }
}

void Connection::sweep(Milliseconds now) {
  if (phase_ == Phase::closed || now < deadline_) return;
  loop_.timeouts_.fetch_add(1, std::memory_order_relaxed);
  if (phase_ == Phase::serving && state_ == Session::State::receiving && unsent_.is_empty()) {
    session_->time_out(loop_.output());
    error_code ignored;
    socket_.write_some(asio::buffer(loop_.output().view()), ignored);
    loop_.output().clear();
  }
  close();
}

}  // namespace sluice::net
