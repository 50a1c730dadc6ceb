// The bytes of one HTTP/1.1 request, made once. Where the path, a header or the body holds `{i}`
// (the request's number, from 0) or `{rand:N}` (a uniform number below N), only those digits and
// the Content-Length are written per request; without them a request is one copy. Any other brace
// is literal, so JSON needs no escaping. One thread.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "load/url.h"
#include "sluice/vocabulary/error.h"

namespace sluice::load {

struct RequestParts {
  std::string method = "GET";  // A token, sent as it is.
  Url url;
  std::vector<std::string> headers;  // `Name: value`; Host and Content-Length are added if missing.
  std::string body;
};

class RequestTemplate {
 public:
  // Errors: invalid_argument for a method or header that would break the framing, or `{rand:0}`.
  static Result<RequestTemplate> make(const RequestParts& parts);
  // The same with every brace literal.
  static Result<RequestTemplate> make_verbatim(const RequestParts& parts);

  // Appends the request with this number to `out`.
  void append(std::uint64_t number, std::string& out);

  // The random numbers of a template repeat for a seed.
  void seed(std::uint64_t value) { random_.seed(value); }

 private:
  enum class Kind : std::uint8_t { literal, number, random, body_length };
  struct Piece {
    Kind kind;
    std::string text;         // literal
    std::uint64_t below = 0;  // random
  };

  static Result<std::vector<Piece>> split(std::string_view text);
  void append_pieces(const std::vector<Piece>& pieces, std::uint64_t number, std::string& out);

  std::vector<Piece> head_;
  std::vector<Piece> body_;
  std::string body_text_;  // Scratch: the body of the request being written.
  std::mt19937_64 random_{1};
};

}  // namespace sluice::load
