// One connection of the load generator: requests out, answers in, in order, each counted once in
// the tally. It makes the socket calls and knows nothing of the loop or of the others. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "load/load_schedule.h"
#include "load/load_tally.h"
#include "load/request_template.h"
#include "load/response_scanner.h"
#include "load/socket.h"

namespace sluice::load {

class LoadConnection final : private ResponseSink {
 public:
  enum class State : std::uint8_t { closed, connecting, open };

  LoadConnection(std::size_t target, const LoadPlan& plan, LoadTally& tally);

  std::size_t target() const noexcept { return target_; }
  State state() const noexcept { return state_; }
  int fd() const noexcept { return socket_.get(); }
  std::size_t in_flight() const noexcept { return count_; }
  bool has_room() const noexcept {
    return state_ == State::open && !is_last_ && count_ < in_flight_.size();
  }
  bool has_unsent() const noexcept { return written_ < out_.size(); }

  // Begins to connect. Errors: store_unavailable; then it stays closed.
  Result<void> connect(const Address& address, Instant now);
  // The socket became writable: open, or closed with the reason. Errors: store_unavailable.
  Result<void> connected();

  // Adds a request to the next flush. Requires has_room().
  void add(RequestTemplate& request, const LoadSchedule::Start& start, Instant now);
  // Writes what the socket takes. What fails shows at the next read.
  void flush();
  // Reads once, through `scratch`, and counts what came. At the end of the connection it is closed,
  // and what was in flight has failed.
  void read(std::span<char> scratch, Instant now);

  // Since when the connect, or the oldest request in flight, is waited for; kInstantMax for
  // nothing.
  Instant waiting_since() const noexcept;
  void close(Failure failure, std::string_view why);

 private:
  struct InFlight {
    Instant due;
    Instant sent;
  };

  void on_head(const ResponseHead& head) override;
  void on_end() override;

  std::size_t target_;
  ResponseScanner::Bodies bodies_;
  LoadTally& tally_;
  State state_ = State::closed;
  bool is_last_ = false;  // The server said that it closes.
  FileDescriptor socket_;
  ResponseScanner scanner_;
  std::string out_;
  std::size_t written_ = 0;
  std::vector<InFlight> in_flight_;  // A ring of `pipeline` places.
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  LoadTally::Marks marks_;  // Of the answer that is being read.
  Instant read_at_{0};
  Instant connecting_since_{0};
};

}  // namespace sluice::load
