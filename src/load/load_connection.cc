#include "load/load_connection.h"

#include <cerrno>

namespace sluice::load {

LoadConnection::LoadConnection(std::size_t target, const LoadPlan& plan, LoadTally& tally)
    : target_(target),
      bodies_(plan.targets[target].method == "HEAD" ? ResponseScanner::Bodies::none
                                                    : ResponseScanner::Bodies::as_framed),
      tally_(tally),
      in_flight_(plan.pipeline) {}

Result<void> LoadConnection::connect(const Address& address, Instant now) {
  auto socket = begin_connect(address);
  if (!socket) return socket.error();
  socket_ = std::move(*socket);
  scanner_ = ResponseScanner{bodies_};
  state_ = State::connecting;
  is_last_ = false;
  connecting_since_ = now;
  return {};
}

Result<void> LoadConnection::connected() {
  auto finished = finish_connect(socket_.get());
  if (finished) {
    state_ = State::open;
  } else {
    close(Failure::connect, finished.error().message);
  }
  return finished;
}

void LoadConnection::add(RequestTemplate& request, const LoadSchedule::Start& start, Instant now) {
  request.append(start.number, out_);
  in_flight_[(first_ + count_) % in_flight_.size()] = {start.due, now};
  ++count_;
  tally_.request_started();
}

void LoadConnection::flush() {
  if (!has_unsent()) return;
  const ssize_t sent =
      ::send(socket_.get(), out_.data() + written_, out_.size() - written_, MSG_NOSIGNAL);
  if (sent > 0) written_ += static_cast<std::size_t>(sent);
  if (has_unsent()) return;
  out_.clear();
  written_ = 0;
}

void LoadConnection::read(std::span<char> scratch, Instant now) {
  read_at_ = now;
  const ssize_t got = ::recv(socket_.get(), scratch.data(), scratch.size(), 0);
  if (got < 0) {
    if (errno != EAGAIN && errno != EINTR) close(Failure::lost, error_text(errno));
    return;
  }
  const auto taken = got > 0 ? scanner_.feed({scratch.data(), static_cast<std::size_t>(got)}, *this)
                             : scanner_.finish(*this);
  if (!taken) {
    close(got > 0 ? Failure::bad_answer : Failure::lost, taken.error().message);
  } else if (got == 0) {
    close(is_last_ ? Failure::not_taken : Failure::lost, "the server closed the connection");
  }
}

void LoadConnection::on_head(const ResponseHead& head) {
  marks_ = tally_.read(head);
  if (head.closes) is_last_ = true;
}

void LoadConnection::on_end() {
  if (count_ == 0) {  // An answer to nothing.
    tally_.failed(Failure::bad_answer, 1, "an answer without a request");
    return;
  }
  tally_.answered(marks_, read_at_ - in_flight_[first_].due);
  first_ = (first_ + 1) % in_flight_.size();
  --count_;
}

Instant LoadConnection::waiting_since() const noexcept {
  if (state_ == State::connecting) return connecting_since_;
  return count_ > 0 ? in_flight_[first_].sent : kInstantMax;
}

void LoadConnection::close(Failure failure, std::string_view why) {
  tally_.failed(failure, count_, why);
  socket_.reset();
  state_ = State::closed;
  out_.clear();
  written_ = 0;
  count_ = 0;
}

}  // namespace sluice::load
