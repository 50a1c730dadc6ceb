// What the bytes of a connection mean: one protocol's side of a connection. Everything here happens
// on the thread of the connection's loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/byte_buffer.h"

namespace sluice::net {

class Connection;

class Session {
 public:
  enum class State : std::uint8_t {
    idle,       // Nothing half-read; the peer may take its time.
    receiving,  // In the middle of a request; the peer may not.
    full,       // Much is written: send it, then call receive() again with the rest.
    busy,       // A request waits for its answer; Connection::resume() goes on.
    closing,    // Send what is written, then close. Everything read was understood.
    refused,    // The same, but the peer may still be sending: let it read the answer first.
  };
  struct Progress {
    std::size_t consumed = 0;  // Of the bytes given; the rest comes again.
    State state = State::idle;
  };

  virtual ~Session() = default;

  // All bytes read and not consumed so far. What there is to say goes to `out`.
  virtual Progress receive(std::span<char> bytes, ByteBuffer& out) = 0;

  // The peer was too slow with a request: the last words, before the connection closes.
  virtual void time_out(ByteBuffer& out) = 0;
};

using SessionFactory = std::function<std::unique_ptr<Session>(Connection&)>;

}  // namespace sluice::net
