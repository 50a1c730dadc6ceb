#include "wire/query.h"

#include <charconv>
#include <optional>

namespace sluice {
namespace {

std::optional<std::string> decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    unsigned char byte = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const auto parsed = std::from_chars(&text[i + 1], &text[i + 1] + 2, byte, 16);
    if (parsed.ptr != &text[i + 1] + 2) return std::nullopt;
    decoded += static_cast<char>(byte);
    i += 2;
  }
  return decoded;
}

}  // namespace

Result<Query> parse_query(std::string_view query) {
  Query pairs;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    auto key = decode(pair.substr(0, equals));
    auto value =
        decode(equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1));
    if (!key || !value) {
      return Error{
          ErrorCode::invalid_argument,
          "query: two hexadecimal digits must follow each % in \"" + std::string(pair) + "\""};
    }
    pairs.emplace_back(std::move(*key), std::move(*value));
  }
  return pairs;
}

std::string encode_query_part(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string encoded;
  for (const char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += kHex[byte >> 4];
    encoded += kHex[byte & 15];
  }
  return encoded;
}

}  // namespace sluice
