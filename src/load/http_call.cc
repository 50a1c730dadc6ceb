#include "load/http_call.h"

#include <array>
#include <cerrno>
#include <chrono>

#include <poll.h>

#include "load/response_scanner.h"
#include "load/socket.h"

namespace sluice::load {
namespace {

using Deadline = std::chrono::steady_clock::time_point;
constexpr std::size_t kBodyBytesMax = std::size_t{64} * 1024 * 1024;

struct Collector final : ResponseSink {
  void on_head(const ResponseHead& head) override {
    answer.status = head.status;
    answer.header_lines = head.lines;
  }
  void on_body(std::string_view bytes) override { answer.body += bytes; }
  void on_end() override { is_complete = true; }

  HttpAnswer answer;
  bool is_complete = false;
};

Result<void> wait_for(int fd, short events, Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Deadline::clock::now());
  pollfd wanted{fd, events, 0};
  if (left.count() > 0 && ::poll(&wanted, 1, static_cast<int>(left.count())) > 0) return {};
  return Error{ErrorCode::timeout, "no answer in time"};
}

Result<FileDescriptor> connect(const Url& url, Deadline deadline) {
  const auto addresses = resolve(url);
  if (!addresses) return addresses.error();
  Error last{ErrorCode::not_found, url.host + ": no address"};
  for (const Address& address : *addresses) {
    auto socket = begin_connect(address);
    if (!socket) {
      last = socket.error();
      continue;
    }
    if (auto waited = wait_for(socket->get(), POLLOUT, deadline); !waited) return waited.error();
    const auto connected = finish_connect(socket->get());
    if (connected) return socket;
    last = connected.error();
  }
  return last;
}

Result<void> send_all(int fd, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN) {
      return {};  // An answer may have come before the end of the request.
    } else if (auto waited = wait_for(fd, POLLOUT, deadline); !waited) {
      return waited;
    }
  }
  return {};
}

Result<HttpAnswer> receive(int fd, ResponseScanner scanner, Deadline deadline) {
  Collector collector;
  std::array<char, std::size_t{16} * 1024> scratch;
  while (!collector.is_complete) {
    if (auto waited = wait_for(fd, POLLIN, deadline); !waited) return waited.error();
    const ssize_t got = ::recv(fd, scratch.data(), scratch.size(), 0);
    if (got < 0) return Error{ErrorCode::store_unavailable, error_text(errno)};
    const auto taken =
        got > 0 ? scanner.feed({scratch.data(), static_cast<std::size_t>(got)}, collector)
                : scanner.finish(collector);
    if (!taken) return taken.error();
    if (got == 0 && !collector.is_complete) {
      return Error{ErrorCode::store_unavailable, "the server closed the connection"};
    }
    if (collector.answer.body.size() > kBodyBytesMax) {
      return Error{ErrorCode::corrupt_data, "an answer larger than 64 MiB"};
    }
  }
  return std::move(collector.answer);
}

}  // namespace

Result<HttpAnswer> call_http(const RequestParts& request, Duration timeout) {
  const Deadline deadline = Deadline::clock::now() + timeout;
  std::string bytes;
  auto made = RequestTemplate::make_verbatim(request);
  if (!made) return made.error();
  made->append(0, bytes);
  const auto socket = connect(request.url, deadline);
  if (!socket) return socket.error();
  if (auto sent = send_all(socket->get(), bytes, deadline); !sent) return sent.error();
  const bool has_body = request.method != "HEAD";
  return receive(socket->get(),
                 ResponseScanner{has_body ? ResponseScanner::Bodies::as_framed
                                          : ResponseScanner::Bodies::none},
                 deadline);
}

}  // namespace sluice::load
