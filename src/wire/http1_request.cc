#include "wire/http1_request.h"

#include <algorithm>
#include <cstring>
#include <optional>

#define BOOST_BEAST_HEADER_ONLY 1
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

namespace sluice::http1 {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::iequals;
using BeastView = boost::beast::string_view;

constexpr std::size_t kLastChunkBytes = 5;  // "0\r\n\r\n"

// Where something lies in the request's bytes; those may move while the rest arrives.
struct Slice {
  std::size_t offset = 0;
  std::size_t size = 0;
};

Method method_of(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::get;
    case http::verb::head:
      return Method::head;
    case http::verb::post:
      return Method::post;
    case http::verb::put:
      return Method::put;
    case http::verb::delete_:
      return Method::delete_;
    default:
      return Method::other;
  }
}

Refusal refusal_of(error_code error) {
  if (error == http::error::header_limit) {
    return {431, "request line and header fields are longer than this server reads"};
  }
  if (error == http::error::body_limit) return {413, "body is larger than this server reads"};
  if (error == http::error::bad_version) return {505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  if (error == http::error::bad_transfer_encoding) {
    return {400, "Transfer-Encoding must be chunked, once, and without a Content-Length"};
  }
  if (error == http::error::bad_content_length || error == http::error::multiple_content_length) {
    return {400, "Content-Length must be one whole number, and without a Transfer-Encoding"};
  }
  return {400, "not an HTTP/1.1 request: " + error.message()};
}

// Sees the events of one request. A refusal of our own is set before the error that stops Beast.
class Parser final : public http::basic_parser<true> {
 public:
  explicit Parser(const RequestLimits& limits) : limits_(limits) {
    eager(true);
    header_limit(limits.header_bytes_max);
    body_limit(limits.body_bytes_max);
  }

  void set_base(char* base) noexcept { base_ = base; }
  bool expects_continue() const noexcept { return expects_continue_; }
  const std::optional<Refusal>& refusal() const noexcept { return refusal_; }

  void fill(Request& request) const {
    request = Request{};
    request.method = method_;
    request.content_type = view(content_type_);
    request.authorization = view(authorization_);
    request.body = view(body_);
    request.is_http10 = is_http10_;
    request.keeps_alive = keep_alive();
    request.has_content_coding = has_content_coding_;
    std::string_view target = view(target_);
    if (!target.starts_with('/')) {  // http://host/path: what a proxy is sent.
      const std::size_t authority = target.find("://");
      const std::size_t path =
          authority == std::string_view::npos ? authority : target.find('/', authority + 3);
      if (path != std::string_view::npos) target.remove_prefix(path);
    }
    const std::size_t question = target.find('?');
    request.path = target.substr(0, question);
    if (question != std::string_view::npos) request.query = target.substr(question + 1);
  }

 private:
  std::string_view view(Slice slice) const noexcept { return {base_ + slice.offset, slice.size}; }
  Slice slice(BeastView text) const noexcept {
    return {static_cast<std::size_t>(text.data() - base_), text.size()};
  }
  void refuse(unsigned status, const char* detail, error_code& error) {
    refusal_ = Refusal{status, detail};
    error = http::error::bad_value;
  }

  void on_request_impl(http::verb verb, BeastView, BeastView target, int version,
                       error_code& error) override {
    method_ = method_of(verb);
    is_http10_ = version == 10;
    target_ = slice(target);
    if (target.size() > limits_.target_bytes_max) {
      refuse(414, "request target is longer than this server reads", error);
    }
  }

  void on_field_impl(http::field name, BeastView, BeastView value, error_code& error) override {
    if (++fields_ > limits_.headers_max) {
      return refuse(431, "more header fields than this server reads", error);
    }
    if (is_head_done_) return;  // A trailer changes nothing.
    switch (name) {
      case http::field::host:
        if (++hosts_ > 1) refuse(400, "Host must be given once", error);
        break;
      case http::field::content_type:
        content_type_ = slice(value);
        break;
      case http::field::authorization:
        authorization_ = slice(value);
        break;
      case http::field::content_encoding:
        has_content_coding_ = !iequals(value, "identity");
        break;
      case http::field::expect:
        if (!iequals(value, "100-continue")) {
          return refuse(417, "Expect can be 100-continue only", error);
        }
        expects_continue_ = !is_http10_;
        break;
      case http::field::content_length:
        if (++lengths_ > 1) refuse(400, "Content-Length must be given once", error);
        break;
      case http::field::transfer_encoding:
        if (is_http10_ || !iequals(value, "chunked")) {
          refuse(400, "Transfer-Encoding must be chunked, and of HTTP/1.1", error);
        }
        break;
      default:
        break;
    }
  }

  void on_header_impl(error_code& error) override {
    is_head_done_ = true;
    if (!is_http10_ && hosts_ == 0) refuse(400, "Host is missing", error);
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}

  std::size_t on_body_impl(BeastView piece, error_code&) override { return add_to_body(piece); }

  void on_chunk_header_impl(std::uint64_t, BeastView, error_code&) override {}

  std::size_t on_chunk_body_impl(std::uint64_t, BeastView piece, error_code&) override {
    return add_to_body(piece);
  }

  void on_finish_impl(error_code&) override {}

  // Pieces of chunks move left over the chunk headers between them, which have been read.
  std::size_t add_to_body(BeastView piece) {
    const Slice found = slice(piece);
    if (body_.size == 0) {
      body_ = found;
    } else {
      const std::size_t end = body_.offset + body_.size;
      if (end != found.offset) std::memmove(base_ + end, base_ + found.offset, found.size);
      body_.size += found.size;
    }
    return piece.size();
  }

  void on_response_impl(int, BeastView, int, error_code&) override {}  // Never: requests only.

  const RequestLimits& limits_;
  char* base_ = nullptr;
  Slice target_, content_type_, authorization_, body_;
  std::uint32_t fields_ = 0, hosts_ = 0, lengths_ = 0;
  Method method_ = Method::other;
  bool is_http10_ = false, is_head_done_ = false;
  bool expects_continue_ = false, has_content_coding_ = false;
  std::optional<Refusal> refusal_;
};

}  // namespace

struct RequestReader::Parts {
  RequestLimits limits;
  std::optional<Parser> parser;
  std::size_t read_bytes = 0;
  bool is_fresh = true;
  bool has_said_continue = false;
  Request request;
  Refusal refusal;
};

RequestReader::RequestReader(const RequestLimits& limits) : parts_(std::make_unique<Parts>()) {
  parts_->limits = limits;
  reset();
}
RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&&) noexcept = default;

RequestReader::Progress RequestReader::read(std::span<char> bytes) {
  Parts& parts = *parts_;
  Parser& parser = *parts.parser;
  parser.set_base(bytes.data());
  parts.is_fresh = false;
  error_code error;
  // Beast stops between head, body and chunks; go on until it wants more or is done.
  while (parts.read_bytes < bytes.size() && !parser.is_done() && !error) {
    const auto rest = bytes.subspan(parts.read_bytes);
    // Beast asserts that it is never shown less than a last chunk, once it has begun on one.
    if (parser.is_header_done() && parser.chunked() && rest.size() < kLastChunkBytes) break;
    parts.read_bytes += parser.put({rest.data(), rest.size()}, error);
  }
  if (error && error != http::error::need_more) {
    parts.refusal = parser.refusal() ? *parser.refusal() : refusal_of(error);
    const auto line_end = std::find(bytes.begin(), bytes.end(), '\n');
    if (error == http::error::header_limit && line_end == bytes.end()) {
      parts.refusal = {414, "request target is longer than this server reads"};
    }
    return Progress::refused;
  }
  if (parser.is_done()) {
    parser.fill(parts.request);
    return Progress::complete;
  }
  if (bytes.size() >= parts.limits.request_bytes_max()) {
    parts.refusal = {413, "chunked body with its framing is larger than this server reads"};
    return Progress::refused;
  }
  if (parser.is_header_done() && parser.expects_continue() && !parts.has_said_continue) {
    parts.has_said_continue = true;
    return Progress::wants_continue;
  }
  return Progress::need_more;
}

const Request& RequestReader::request() const noexcept {
  return parts_->request;
}
std::size_t RequestReader::request_bytes() const noexcept {
  return parts_->read_bytes;
}
const Refusal& RequestReader::refusal() const noexcept {
  return parts_->refusal;
}

bool RequestReader::is_fresh() const noexcept {
  return parts_->is_fresh;
}

void RequestReader::reset() {
  parts_->is_fresh = true;
  parts_->parser.emplace(parts_->limits);
  parts_->read_bytes = 0;
  parts_->has_said_continue = false;
}

}  // namespace sluice::http1
