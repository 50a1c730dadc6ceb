// A stream socket and the session that speaks on it. At most one operation is under way: reading,
// waiting until the peer takes more, or waiting for the session's answer. So there is one place
// where a connection goes on, and none where it can be forgotten. The loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include "base/byte_buffer.h"
#include "net/loop.h"
#include "net/session.h"

namespace sluice::net {

class Connection {
 public:
  using Socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                  boost::asio::io_context::executor_type>;

  Connection(Loop& loop, Socket socket);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Loop& loop() noexcept { return loop_; }

  // The answer that made the session busy is now in loop().output(). Not from within receive().
  void resume();

 private:
  friend class Loop;
  enum class Phase : std::uint8_t { serving, lingering, closed };

  void start(std::unique_ptr<Session> session);
  void read();
  void on_read(const boost::system::error_code& error, std::size_t bytes);
  void advance();
  void settle(Session::State state);
  bool flush();
  void on_writable(const boost::system::error_code& error);
  void linger();
  void close() noexcept;
  void begin_drain() noexcept;
  void sweep(Milliseconds now);
  void set_deadline(Milliseconds from_now) noexcept;

  Loop& loop_;
  Socket socket_;
  std::unique_ptr<Session> session_;
  std::list<std::unique_ptr<Connection>>::iterator self_;
  ByteBuffer in_;
  ByteBuffer unsent_;
  Milliseconds deadline_{0};
  std::size_t lingered_bytes_ = 0;
  Phase phase_ = Phase::serving;
  Session::State state_ = Session::State::idle;
  bool is_operation_pending_ = false;
  bool did_read_fill_ = false;  // The last read took all the room there was: make more.
};

}  // namespace sluice::net
