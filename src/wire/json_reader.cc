#include "wire/json_reader.h"

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/src.hpp>  // The library is header-only here; this is its one home.
#include <fmt/format.h>

namespace sluice {
namespace {

namespace json = boost::json;
using json::error_code;
using JsonView = json::string_view;

// Puts pieces of escaped text together and passes everything on. Names are Boost.JSON's.
struct Handler {
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;

  JsonEvents* events = nullptr;
  std::string_view text;
  std::vector<char> unescaped;  // Reserved for the whole text first: views into it stay.
  std::size_t piece_begin = 0;
  bool has_pieces = false;

  static bool go_on(bool goes_on, error_code& error) {
    if (!goes_on) error = json::error::exception;
    return goes_on;
  }
  bool add_piece(JsonView piece) {
    if (!has_pieces) piece_begin = unescaped.size();
    has_pieces = true;
    unescaped.insert(unescaped.end(), piece.begin(), piece.end());
    return true;
  }
  // A short string with escapes comes as one piece, which lies on the parser's stack.
  std::string_view whole(JsonView last) {
    const bool is_of_text = std::less_equal<>{}(text.data(), last.data()) &&
                            std::less_equal<>{}(last.data(), text.data() + text.size());
    if (!has_pieces && is_of_text) return {last.data(), last.size()};
    add_piece(last);
    has_pieces = false;
    return {unescaped.data() + piece_begin, unescaped.size() - piece_begin};
  }
  static JsonNumber number_of(double value) {
    constexpr double kTwoTo64 = 18446744073709551616.0;
    if (std::isnan(value)) value = 0;  // What the parser makes of 0e999.
    const double magnitude = std::fabs(value);
    return {.is_whole = std::floor(value) == value,
            .is_negative = value < 0,
            .magnitude = magnitude >= kTwoTo64 ? std::numeric_limits<std::uint64_t>::max()
                                               : static_cast<std::uint64_t>(magnitude)};
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code& e) { return go_on(events->begin_object(), e); }
  bool on_object_end(std::size_t, error_code& e) { return go_on(events->end_object(), e); }
  bool on_array_begin(error_code& e) { return go_on(events->begin_array(), e); }
  bool on_array_end(std::size_t, error_code& e) { return go_on(events->end_array(), e); }
  bool on_key_part(JsonView piece, std::size_t, error_code&) { return add_piece(piece); }
  bool on_key(JsonView last, std::size_t, error_code& e) {
    return go_on(events->key(whole(last)), e);
  }
  bool on_string_part(JsonView piece, std::size_t, error_code&) { return add_piece(piece); }
  bool on_string(JsonView last, std::size_t, error_code& e) {
    return go_on(events->string(whole(last)), e);
  }
  bool on_number_part(JsonView, error_code&) { return true; }
  bool on_int64(std::int64_t value, JsonView, error_code& e) {
    const auto bits = static_cast<std::uint64_t>(value);
    return go_on(events->number({true, value < 0, value < 0 ? 0 - bits : bits}), e);
  }
  bool on_uint64(std::uint64_t value, JsonView, error_code& e) {
    return go_on(events->number({true, false, value}), e);
  }
  bool on_double(double value, JsonView, error_code& e) {
    return go_on(events->number(number_of(value)), e);
  }
  bool on_bool(bool value, error_code& e) { return go_on(events->boolean(value), e); }
  bool on_null(error_code& e) { return go_on(events->null(), e); }
  bool on_comment_part(JsonView, error_code&) { return true; }
  bool on_comment(JsonView, error_code&) { return true; }
};

json::parse_options strict_options() {
  json::parse_options options;
  options.max_depth = kJsonDepthMax;
  return options;
}

}  // namespace

struct JsonReader::Parser {
  json::basic_parser<Handler> parser{strict_options()};
  error_code error;
  std::size_t stopped_at = 0;
};

JsonReader::JsonReader() : parser_(std::make_unique<Parser>()) {}
JsonReader::~JsonReader() = default;

JsonReader::Outcome JsonReader::read(std::string_view text, JsonEvents& events) {
  auto& parser = parser_->parser;
  Handler& handler = parser.handler();
  handler.events = &events;
  handler.text = text;
  handler.unescaped.clear();
  handler.unescaped.reserve(text.size());
  handler.has_pieces = false;
  parser.reset();
  error_code error;
  parser_->stopped_at = parser.write_some(false, text.data(), text.size(), error);
  if (!error && parser_->stopped_at < text.size()) error = json::error::extra_data;
  parser_->error = error;
  if (!error) return Outcome::complete;
  return error == json::error::exception ? Outcome::stopped : Outcome::malformed;
}

std::string JsonReader::problem(std::string_view text) const {
  const std::size_t at = parser_->stopped_at;
  if (text.empty()) return "the body is empty; expected a JSON object";
  if (at >= text.size()) return "the body ends in the middle of the JSON value";
  const auto byte = static_cast<unsigned char>(text[at]);
  if (parser_->error == json::error::too_deep) {
    return fmt::format("JSON nested deeper than {} levels at byte {}", kJsonDepthMax, at);
  }
  if (parser_->error == json::error::extra_data) {
    return fmt::format("text after the JSON value at byte {}", at);
  }
  if (byte >= 0x80) return fmt::format("not UTF-8: byte 0x{:02x} at byte {}", byte, at);
  if (byte < 0x20) {
    return fmt::format("control character 0x{:02x} at byte {}: write it as \\u00{:02x}", byte, at,
                       byte);
  }
  return fmt::format("not JSON at byte {}: {}", at, parser_->error.message());
}

}  // namespace sluice
