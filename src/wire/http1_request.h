// HTTP/1.x requests, from bytes as they arrive. Boost.Beast's parser does the grammar; here are our
// bounds, the few fields that this server looks at, and a body laid together in place, so that a
// request is a handful of views into the buffer it was read from and costs no memory of its own.
// One reader for each connection; not for use by several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace sluice::http1 {

// What a peer may send. Beyond: a refusal that says so.
struct RequestLimits {
  std::uint32_t header_bytes_max = 16 * 1024;  // Request line and all fields together: 431.
  std::uint32_t headers_max = 100;             // 431
  std::uint32_t target_bytes_max = 8 * 1024;   // 414
  std::uint32_t body_bytes_max = 64 * 1024;    // 413

  // What one request can occupy before it is complete or refused; chunks may double a body.
  std::size_t request_bytes_max() const noexcept {
    return std::size_t{header_bytes_max} + std::size_t{body_bytes_max} * 2;
  }
};

enum class Method : std::uint8_t { get, head, post, put, delete_, other };

// Borrowed from the bytes given to read().
struct Request {
  Method method = Method::other;
  std::string_view path;   // As sent, before any '?', without scheme and host.
  std::string_view query;  // As sent, after the first '?'.
  std::string_view content_type;
  std::string_view authorization;
  std::string_view body;
  bool is_http10 = false;
  bool keeps_alive = true;          // What the client wants for the connection.
  bool has_content_coding = false;  // Content-Encoding other than identity.
};

// Why a request was not understood. The connection cannot go on: where the next request would begin
// is unknown.
struct Refusal {
  unsigned status = 400;
  std::string detail;
};

class RequestReader {
 public:
  enum class Progress : std::uint8_t {
    need_more,
    wants_continue,  // Once, when the head says Expect: 100-continue and the body is still to come.
    complete,
    refused,
  };

  explicit RequestReader(const RequestLimits& limits);
  ~RequestReader();
  RequestReader(RequestReader&&) noexcept;

  // `bytes` begins with the first byte of the request and holds at least what the last call was
  // given; it may have moved. Chunked bodies are laid together in place.
  Progress read(std::span<char> bytes);

  // After complete: the request, and how many bytes it took. Valid while the bytes are.
  const Request& request() const noexcept;
  std::size_t request_bytes() const noexcept;
  // After refused.
  const Refusal& refusal() const noexcept;

  // Nothing of a request has been read since the last reset().
  bool is_fresh() const noexcept;

  // Ready for the next request.
  void reset();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace sluice::http1
