#include "load/json_line.h"

#include <fmt/format.h>

namespace sluice::load {

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c >= ' ' && c <= '~') {
      quoted += c;
    } else {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    }
  }
  return quoted + '"';
}

void JsonLine::name(std::string_view name) {
  if (!members_.empty()) members_ += ',';
  members_ += json_string(name) + ':';
}

JsonLine& JsonLine::raw(std::string_view key, std::string_view json) {
  name(key);
  members_ += json;
  return *this;
}

JsonLine& JsonLine::member(std::string_view key, std::uint64_t value) {
  return raw(key, std::to_string(value));
}

JsonLine& JsonLine::member(std::string_view key, double value) {
  return raw(key, fmt::format("{:.6f}", value));
}

JsonLine& JsonLine::member(std::string_view key, bool value) {
  return raw(key, value ? "true" : "false");
}

JsonLine& JsonLine::member(std::string_view key, std::string_view text) {
  return raw(key, json_string(text));
}

}  // namespace sluice::load
