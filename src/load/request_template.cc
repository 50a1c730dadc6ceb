// A template is split once into literal and varying pieces. The body is written first, into
// scratch, because its length stands before it.
#include "load/request_template.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace sluice::load {
namespace {

void append_digits(std::uint64_t value, std::string& out) {
  char digits[20];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  out.append(digits, end);
}

// RFC 9110, 5.6.2: what a method and a header's name are made of.
bool is_token(std::string_view text) {
  static constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || kMarks.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

bool is_header_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

bool names(std::string_view header, std::string_view name) {
  return header.size() > name.size() && header[name.size()] == ':' &&
         std::equal(name.begin(), name.end(), header.begin(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) ==
                  std::tolower(static_cast<unsigned char>(b));
         });
}

Error invalid(std::string message) {
  return {ErrorCode::invalid_argument, std::move(message)};
}

// Everything before the body, with `{length}` standing for the number of its bytes.
Result<std::string> head_of(const RequestParts& parts, std::string_view length) {
  if (!is_token(parts.method)) return invalid("'" + parts.method + "' is not a method");
  std::string head = parts.method + ' ' + parts.url.target + " HTTP/1.1\r\n";
  const auto has = [&](std::string_view name) {
    return std::any_of(parts.headers.begin(), parts.headers.end(),
                       [&](const std::string& header) { return names(header, name); });
  };
  if (!has("Host")) head += "Host: " + parts.url.authority + "\r\n";
  if (!has("Content-Type") && !parts.body.empty()) head += "Content-Type: application/json\r\n";
  for (const std::string& header : parts.headers) {
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos || !is_token(std::string_view{header}.substr(0, colon)) ||
        !is_header_value(header)) {
      return invalid("'" + header + "' is not a header, write 'Name: value'");
    }
    if (names(header, "Content-Length") || names(header, "Transfer-Encoding")) {
      return invalid("'" + header + "': the length of the body is written for you");
    }
    head += header + "\r\n";
  }
  const bool wants_length = !parts.body.empty() || parts.method == "POST" ||
                            parts.method == "PUT" || parts.method == "PATCH";
  if (wants_length) head.append("Content-Length: ").append(length).append("\r\n");
  return head + "\r\n";
}

}  // namespace

Result<std::vector<RequestTemplate::Piece>> RequestTemplate::split(std::string_view text) {
  constexpr std::string_view kNumber = "{i}";
  constexpr std::string_view kRandom = "{rand:";
  std::vector<Piece> pieces;
  std::string literal;
  const auto end_literal = [&] {
    if (!literal.empty()) pieces.push_back({Kind::literal, std::exchange(literal, {})});
  };
  while (!text.empty()) {
    const std::size_t close = text.starts_with(kRandom) ? text.find('}') : std::string_view::npos;
    if (text.starts_with(kNumber)) {
      end_literal();
      pieces.push_back({Kind::number, {}});
      text.remove_prefix(kNumber.size());
    } else if (close != std::string_view::npos) {
      const char* const first = text.data() + kRandom.size();
      const char* const last = text.data() + close;
      std::uint64_t below = 0;
      const auto [end, code] = std::from_chars(first, last, below);
      if (code != std::errc{} || end != last || below == 0) {
        return invalid("'" + std::string{text.substr(0, close + 1)} +
                       "': write {rand:N} with N of at least 1");
      }
      end_literal();
      pieces.push_back({Kind::random, {}, below});
      text.remove_prefix(close + 1);
    } else {
      literal += text.front();
      text.remove_prefix(1);
    }
  }
  end_literal();
  return pieces;
}

Result<RequestTemplate> RequestTemplate::make(const RequestParts& parts) {
  RequestTemplate made;
  auto body = split(parts.body);
  if (!body) return body.error();
  made.body_ = std::move(*body);
  const bool body_varies =
      made.body_.size() > 1 || (made.body_.size() == 1 && made.body_[0].kind != Kind::literal);

  // A byte that no header holds marks where the length goes.
  const std::string_view mark{"\0", 1};
  const std::string fixed_length = std::to_string(parts.body.size());
  const auto head = head_of(parts, body_varies ? mark : std::string_view{fixed_length});
  if (!head) return head.error();
  const std::size_t mark_at = head->find('\0');
  auto before = split(std::string_view{*head}.substr(0, mark_at));
  if (!before) return before.error();
  made.head_ = std::move(*before);
  if (mark_at != std::string::npos) {
    made.head_.push_back({Kind::body_length, {}});
    made.head_.push_back({Kind::literal, head->substr(mark_at + 1)});
  } else if (made.head_.size() == 1) {
    made.head_[0].text += parts.body;
    made.body_.clear();
  }
  return made;
}

Result<RequestTemplate> RequestTemplate::make_verbatim(const RequestParts& parts) {
  const auto head = head_of(parts, std::to_string(parts.body.size()));
  if (!head) return head.error();
  RequestTemplate made;
  made.head_.push_back({Kind::literal, *head + parts.body});
  return made;
}

void RequestTemplate::append_pieces(const std::vector<Piece>& pieces, std::uint64_t number,
                                    std::string& out) {
  for (const Piece& piece : pieces) {
    switch (piece.kind) {
      case Kind::literal:
        out += piece.text;
        break;
      case Kind::number:
        append_digits(number, out);
        break;
      case Kind::random:
        append_digits(random_() % piece.below, out);
        break;
      case Kind::body_length:
        append_digits(body_text_.size(), out);
        break;
    }
  }
}

void RequestTemplate::append(std::uint64_t number, std::string& out) {
  body_text_.clear();
  append_pieces(body_, number, body_text_);
  append_pieces(head_, number, out);
  out += body_text_;
}

}  // namespace sluice::load
