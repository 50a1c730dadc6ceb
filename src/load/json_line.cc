#include "load/json_line.h"

#include <fmt/format.h>

#include "base/byte_buffer.h"
#include "wire/json_text.h"

namespace sluice::load {

std::string json_string(std::string_view text) {
  ByteBuffer out;
  append_json_string(out, text);
  return std::string{out.view()};
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
