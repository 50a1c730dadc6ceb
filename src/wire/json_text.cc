#include "wire/json_text.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "wire/http1_response.h"

namespace sluice {
namespace {

// Length of the UTF-8 sequence that `text` begins with; 0 when it is none (RFC 3629 table).
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return continues(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const unsigned low = lead == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : 0xbf;  // No surrogates.
    return continues(1, low, high) && continues(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const unsigned low = lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xf4 ? 0x8f : 0xbf;
    return continues(1, low, high) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

void append_escaped(ByteBuffer& out, unsigned char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      return out.append("\\\"");
    case '\\':
      return out.append("\\\\");
    case '\n':
      return out.append("\\n");
    case '\r':
      return out.append("\\r");
    case '\t':
      return out.append("\\t");
    default:
      out.append("\\u00");
      out.append(kHex[c >> 4]);
      out.append(kHex[c & 15]);
  }
}

bool is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

}  // namespace

void append_json_string(ByteBuffer& out, std::string_view text) {
  out.append('"');
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(static_cast<unsigned char>(text[plain]))) ++plain;
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto c = static_cast<unsigned char>(text.front());
    std::size_t taken = 1;
    if (c < 0x80) {
      append_escaped(out, c);
    } else if (const std::size_t sequence = utf8_sequence(text); sequence > 0) {
      out.append(text.substr(0, sequence));
      taken = sequence;
    } else {
      out.append("\xef\xbf\xbd");
    }
    text.remove_prefix(taken);
  }
  out.append('"');
}

void append_problem(ByteBuffer& out, const ProblemDocument& problem) {
  out.append("{\"type\":");
  append_json_string(out, problem.type);
  out.append(",\"title\":");
  append_json_string(out, problem.title.empty() ? http1::reason_of(problem.status) : problem.title);
  out.append(",\"status\":");
  out.append_number(problem.status);
  out.append(",\"detail\":");
  append_json_string(out, problem.detail);
  if (!problem.field.empty()) {
    out.append(",\"field\":");
    append_json_string(out, problem.field);
  }
  out.append("}\n");
}

}  // namespace sluice
