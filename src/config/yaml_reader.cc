#include "config/yaml_reader.h"

#include <algorithm>
#include <istream>

#include <yaml.h>

namespace sluice {
namespace {

// Called by libyaml when it wants bytes.
int read_stream(void* stream, unsigned char* buffer, std::size_t size, std::size_t* read) {
  auto& in = *static_cast<std::istream*>(stream);
  in.read(reinterpret_cast<char*>(buffer), static_cast<std::streamsize>(size));
  *read = static_cast<std::size_t>(in.gcount());
  return in.bad() ? 0 : 1;
}

std::uint32_t line_of(const yaml_mark_t& mark) {
  return static_cast<std::uint32_t>(mark.line + 1);
}

}  // namespace

bool YamlEvent::is_null() const noexcept {
  return kind == Kind::scalar && is_plain &&
         (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL");
}

struct YamlReader::Parser {
  explicit Parser(std::istream& in) {
    is_ready = yaml_parser_initialize(&parser) != 0;
    if (is_ready) yaml_parser_set_input(&parser, read_stream, &in);
  }
  ~Parser() {
    yaml_event_delete(&event);
    if (is_ready) yaml_parser_delete(&parser);
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  yaml_parser_t parser{};
  yaml_event_t event{};
  bool is_ready = false;
};

YamlReader::YamlReader(std::istream& in) : parser_(std::make_unique<Parser>(in)) {}
YamlReader::~YamlReader() = default;

YamlEvent YamlReader::fail(std::uint32_t line, std::string message) {
  if (!has_failed_) problem_ = {"", line, std::move(message)};
  has_failed_ = true;
  return {.kind = YamlEvent::Kind::failed, .line = line};
}

YamlEvent YamlReader::next() {
  using Kind = YamlEvent::Kind;
  if (has_failed_ || !parser_->is_ready) return fail(0, "out of memory");
  for (;;) {
    yaml_event_delete(&parser_->event);
    if (yaml_parser_parse(&parser_->parser, &parser_->event) == 0) {
      const yaml_parser_t& parser = parser_->parser;
      const char* const reason = parser.problem != nullptr ? parser.problem : "cannot be read";
      return fail(line_of(parser.problem_mark), std::string{"not YAML: "} + reason);
    }
    switch (parser_->event.type) {
      case YAML_NO_EVENT:
      case YAML_STREAM_START_EVENT:
        continue;
      case YAML_STREAM_END_EVENT:
        return {.kind = Kind::finished};
      default:
        return convert();
    }
  }
}

YamlEvent YamlReader::convert() {
  using Kind = YamlEvent::Kind;
  const yaml_event_t& event = parser_->event;
  YamlEvent converted{.kind = Kind::end, .line = line_of(event.start_mark)};
  const yaml_char_t* anchor = nullptr;
  switch (event.type) {
    case YAML_DOCUMENT_START_EVENT:
      converted.kind = Kind::document;
      break;
    case YAML_MAPPING_START_EVENT:
      converted.kind = Kind::mapping;
      anchor = event.data.mapping_start.anchor;
      break;
    case YAML_SEQUENCE_START_EVENT:
      converted.kind = Kind::sequence;
      anchor = event.data.sequence_start.anchor;
      break;
    case YAML_SCALAR_EVENT:
      converted.kind = Kind::scalar;
      anchor = event.data.scalar.anchor;
      converted.is_plain =
          event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && event.data.scalar.tag == nullptr;
      converted.text = {reinterpret_cast<const char*>(event.data.scalar.value),
                        event.data.scalar.length};
      break;
    case YAML_ALIAS_EVENT:
      return fail(converted.line, "aliases (*name) are not supported");
    default:
      break;
  }
  if (anchor != nullptr) return fail(converted.line, "anchors (&name) are not supported");
  return converted;
}

namespace {

struct TreeReader {
  YamlReader& reader;
  std::size_t bytes = 0;

  // False: the reader has failed.
  bool read(const YamlEvent& first, YamlValue& value, std::size_t depth) {
    using Kind = YamlEvent::Kind;
    value.line = first.line;
    switch (first.kind) {
      case Kind::scalar:
        value.kind = first.is_null() ? YamlValue::Kind::null : YamlValue::Kind::scalar;
        value.is_plain = first.is_plain;
        value.text = first.text;
        return count(first);
      case Kind::sequence:
        value.kind = YamlValue::Kind::sequence;
        break;
      case Kind::mapping:
        value.kind = YamlValue::Kind::mapping;
        break;
      default:
        return false;
    }
    if (depth >= kYamlDepthMax) {
      reader.fail(first.line, "nested deeper than " + std::to_string(kYamlDepthMax) + " levels");
      return false;
    }
    for (YamlEvent event = reader.next(); event.kind != Kind::end; event = reader.next()) {
      if (first.kind == Kind::sequence) {
        if (!read(event, value.items.emplace_back(), depth + 1)) return false;
        continue;
      }
      if (event.kind != Kind::scalar) {
        reader.fail(event.line, "a key must be plain text");
        return false;
      }
      YamlField& field = value.fields.emplace_back();
      field.key = event.text;
      field.line = event.line;
      if (!count(event) || !read(reader.next(), field.value, depth + 1)) return false;
    }
    return true;
  }

  // Every scalar counts at least 8 bytes: empty ones fill memory too.
  bool count(const YamlEvent& scalar) {
    bytes += std::max<std::size_t>(scalar.text.size(), 8);
    if (bytes <= kYamlTreeBytesMax) return true;
    reader.fail(scalar.line, "more than " + std::to_string(kYamlTreeBytesMax) + " bytes");
    return false;
  }
};

}  // namespace

bool read_tree(YamlReader& reader, const YamlEvent& first, YamlValue& value) {
  return TreeReader{reader}.read(first, value, 0);
}

void skip_tree(YamlReader& reader, const YamlEvent& first) {
  using Kind = YamlEvent::Kind;
  if (first.kind != Kind::mapping && first.kind != Kind::sequence) return;
  for (std::size_t open = 1; open > 0;) {
    const YamlEvent event = reader.next();
    if (event.kind == Kind::failed || event.kind == Kind::finished) return;
    if (event.kind == Kind::mapping || event.kind == Kind::sequence) ++open;
    if (event.kind == Kind::end) --open;
  }
}

namespace {

bool is_json_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - from;
  };
  const std::size_t first = at;
  const std::size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[first] == '0')) return false;
  if (at < text.size() && text[at] == '.' && (++at, digits() == 0)) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20) {
      out.append("\\u00") += {kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_json(std::string& out, const YamlValue& value) {
  switch (value.kind) {
    case YamlValue::Kind::null:
      out += "null";
      return;
    case YamlValue::Kind::scalar:
      if (value.is_plain &&
          (value.text == "true" || value.text == "false" || is_json_number(value.text))) {
        out += value.text;
      } else {
        append_json_string(out, value.text);
      }
      return;
    case YamlValue::Kind::sequence:
      out += '[';
      for (const YamlValue& item : value.items) {
        if (&item != value.items.data()) out += ',';
        append_json(out, item);
      }
      out += ']';
      return;
    case YamlValue::Kind::mapping:
      out += '{';
      for (const YamlField& field : value.fields) {
        if (&field != value.fields.data()) out += ',';
        append_json_string(out, field.key);
        out += ':';
        append_json(out, field.value);
      }
      out += '}';
      return;
  }
}

}  // namespace

std::string json_text(const YamlValue& value) {
  std::string out;
  append_json(out, value);
  return out;
}

}  // namespace sluice
