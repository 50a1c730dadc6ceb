// The common answer (a whole head and its body in one read) is framed in place, without a copy.
#include "load/response_scanner.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace sluice::load {
namespace {

Error corrupt(std::string message) {
  return {ErrorCode::corrupt_data, std::move(message)};
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool equals(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  return text;
}

// Removes the first line, without its line end.
std::string_view next_line(std::string_view& lines) {
  const std::size_t end = std::min(lines.find('\n'), lines.size());
  const std::string_view line = lines.substr(0, end);
  lines.remove_prefix(std::min(end + 1, lines.size()));
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

// Whether a list such as `keep-alive, Upgrade` has the item.
bool has_item(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    if (equals(trimmed(list.substr(0, end)), item)) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

template <typename Number>
bool parse_whole(std::string_view text, Number& value, int base = 10) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return code == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::optional<std::string_view> find_header(std::string_view lines, std::string_view name) {
  while (!lines.empty()) {
    const std::string_view line = next_line(lines);
    if (line.size() > name.size() && line[name.size()] == ':' &&
        equals(line.substr(0, name.size()), name)) {
      return trimmed(line.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

Result<void> ResponseScanner::feed(std::string_view bytes, ResponseSink& sink) {
  while (!bytes.empty()) {
    Result<void> taken;
    switch (state_) {
      case State::head:
        taken = take_head(bytes, sink);
        break;
      case State::body:
      case State::chunk:
        take_body(bytes, sink);
        break;
      case State::until_close:
        sink.on_body(bytes);
        return {};
      default:
        taken = take_chunk_line(bytes, sink);
    }
    if (!taken) return taken;
  }
  return {};
}

Result<void> ResponseScanner::finish(ResponseSink& sink) {
  if (state_ == State::until_close) {
    state_ = State::head;
    sink.on_end();
    return {};
  }
  if (state_ == State::head && kept_.empty()) return {};
  return corrupt("the connection closed within an answer");
}

Result<void> ResponseScanner::take_head(std::string_view& bytes, ResponseSink& sink) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  if (kept_.empty()) {
    const std::size_t end = bytes.find(kEnd);
    if (end != std::string_view::npos) {
      const std::string_view head = bytes.substr(0, end + 2);
      bytes.remove_prefix(end + kEnd.size());
      return read_head(head, sink);
    }
  }
  const std::size_t kept_before = kept_.size();
  const std::size_t room = kHeadBytesMax - kept_before;
  kept_.append(bytes.substr(0, room));
  const std::size_t end = kept_.find(kEnd, kept_before < 3 ? 0 : kept_before - 3);
  if (end == std::string::npos) {
    if (bytes.size() >= room) return corrupt("an answer's head is larger than 256 KiB");
    bytes = {};
    return {};
  }
  bytes.remove_prefix(end + kEnd.size() - kept_before);
  const std::string head = std::exchange(kept_, {});
  return read_head(std::string_view{head}.substr(0, end + 2), sink);
}

Result<void> ResponseScanner::read_head(std::string_view head, ResponseSink& sink) {
  std::string_view lines = head;
  const std::string_view first = next_line(lines);
  ResponseHead found;
  if (!first.starts_with("HTTP/1.") || first.size() < 12 || first[8] != ' ' ||
      !parse_whole(first.substr(9, 3), found.status) || found.status < 100 || found.status > 599) {
    return corrupt("not an HTTP/1 answer: '" + std::string{first.substr(0, 40)} + "'");
  }
  if (found.status == 101) return corrupt("the server switched protocols unasked");
  if (found.status < 200) return {};
  found.lines = lines;
  found.closes = first[7] == '0';
  if (auto framed = frame(lines, found); !framed) return framed;

  const bool is_whole = state_ == State::body && left_ == 0;
  if (is_whole) state_ = State::head;
  sink.on_head(found);
  if (is_whole) sink.on_end();
  return {};
}

// Sets state_ and left_ for the body (RFC 9112, 6.3).
Result<void> ResponseScanner::frame(std::string_view lines, ResponseHead& head) {
  bool is_chunked = false;
  std::optional<std::uint64_t> length;
  while (!lines.empty()) {
    const std::string_view line = next_line(lines);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return corrupt("a header line without a colon");
    const std::string_view name = line.substr(0, colon);
    if (equals(name, "content-length")) {
      std::uint64_t value = 0;
      if (!parse_whole(trimmed(line.substr(colon + 1)), value) || (length && *length != value)) {
        return corrupt("a Content-Length that is no number");
      }
      length = value;
    } else if (equals(name, "transfer-encoding")) {
      is_chunked = has_item(line.substr(colon + 1), "chunked");
    } else if (equals(name, "connection")) {
      const std::string_view options = line.substr(colon + 1);
      if (has_item(options, "close")) head.closes = true;
      if (has_item(options, "keep-alive")) head.closes = false;
    }
  }
  state_ = State::body;
  left_ = 0;
  if (bodies_ == Bodies::none || head.status == 204 || head.status == 304) return {};
  if (is_chunked) {
    state_ = State::chunk_size;
  } else if (length) {
    left_ = *length;
  } else {
    state_ = State::until_close;
    head.closes = true;
  }
  return {};
}

void ResponseScanner::take_body(std::string_view& bytes, ResponseSink& sink) {
  const std::string_view part = bytes.substr(0, std::min<std::uint64_t>(left_, bytes.size()));
  bytes.remove_prefix(part.size());
  left_ -= part.size();
  sink.on_body(part);
  if (left_ > 0) return;
  if (state_ == State::chunk) {
    state_ = State::chunk_end;
    return;
  }
  state_ = State::head;
  sink.on_end();
}

// False when the line is still incomplete.
bool ResponseScanner::take_line(std::string_view& bytes, std::string_view& line) {
  const std::size_t end = bytes.find('\n');
  kept_.append(bytes.substr(0, end));
  if (end == std::string_view::npos) {
    bytes = {};
    return false;
  }
  bytes.remove_prefix(end + 1);
  line_.swap(kept_);
  kept_.clear();
  if (line_.ends_with('\r')) line_.pop_back();
  line = line_;
  return true;
}

Result<void> ResponseScanner::take_chunk_line(std::string_view& bytes, ResponseSink& sink) {
  std::string_view line;
  if (!take_line(bytes, line)) {
    if (kept_.size() > kHeadBytesMax) return corrupt("a chunk's line is larger than 256 KiB");
    return {};
  }
  if (state_ == State::chunk_end) {
    if (!line.empty()) return corrupt("a chunk longer than it said");
    state_ = State::chunk_size;
  } else if (state_ == State::chunk_size) {
    const std::string_view digits = trimmed(line.substr(0, line.find(';')));
    if (!parse_whole(digits, left_, 16)) return corrupt("a chunk's size that is no number");
    state_ = left_ == 0 ? State::trailers : State::chunk;
  } else if (line.empty()) {  // The end of the trailers.
    state_ = State::head;
    sink.on_end();
  }
  return {};
}

}  // namespace sluice::load
