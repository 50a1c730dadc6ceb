// HTTP/1.1 responses, read as a stream: bytes in, events out (RFC 9112). It looks at nothing but
// what frames a message, so that a load generator spends its time on the server's work, and keeps
// bytes only of a head that is still incomplete. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sluice/vocabulary/error.h"

namespace sluice::load {

struct ResponseHead {
  int status = 0;          // 200 to 599; interim answers (1xx) are skipped.
  std::string_view lines;  // The header lines, each ending in CRLF or LF.
  bool closes = false;     // The server will close the connection after this answer.
};

// The value of the first header of that name, trimmed; none when it is missing.
std::optional<std::string_view> find_header(std::string_view lines, std::string_view name);

// What a scanner finds. Views are valid during the call alone.
class ResponseSink {
 public:
  virtual void on_head(const ResponseHead& head) = 0;
  virtual void on_body(std::string_view bytes) { static_cast<void>(bytes); }
  virtual void on_end() = 0;

 protected:
  ~ResponseSink() = default;
};

class ResponseScanner {
 public:
  static constexpr std::size_t kHeadBytesMax = std::size_t{256} * 1024;

  enum class Bodies : std::uint8_t { as_framed, none };  // none: answers to HEAD.
  explicit ResponseScanner(Bodies bodies = Bodies::as_framed) : bodies_(bodies) {}

  // Takes all bytes. Errors: corrupt_data for what is no HTTP/1 answer; the scanner is then spent.
  Result<void> feed(std::string_view bytes, ResponseSink& sink);

  // The peer closed: completes a body that ends with the connection. Errors: corrupt_data when an
  // answer was cut short.
  Result<void> finish(ResponseSink& sink);

 private:
  enum class State : std::uint8_t {
    head,
    body,
    until_close,
    chunk_size,
    chunk,
    chunk_end,
    trailers
  };

  Result<void> take_head(std::string_view& bytes, ResponseSink& sink);
  Result<void> read_head(std::string_view head, ResponseSink& sink);
  Result<void> frame(std::string_view lines, ResponseHead& head);
  Result<void> take_chunk_line(std::string_view& bytes, ResponseSink& sink);
  void take_body(std::string_view& bytes, ResponseSink& sink);
  bool take_line(std::string_view& bytes, std::string_view& line);

  Bodies bodies_;
  State state_ = State::head;
  std::uint64_t left_ = 0;  // Bytes of the body, or of the chunk.
  std::string kept_;        // An incomplete head or chunk line.
  std::string line_;        // Scratch for take_line().
};

}  // namespace sluice::load
