#include "ask.h"

#include <cstdlib>

#include <CLI/CLI.hpp>
#include <boost/json/parse.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace sluice {
namespace {

constexpr Duration kPatience = std::chrono::seconds{5};

}  // namespace

Result<Asked> ask(std::string_view server, std::string_view method, std::string_view target,
                  std::string body) {
  auto url = load::parse_url(std::string{server} + std::string{target});
  if (!url) return url.error();
  auto answer = load::call_http(
      {std::string{method}, std::move(*url), {"Connection: close"}, std::move(body)}, kPatience);
  if (!answer)
    return Error{answer.error().code, fmt::format("{}: {}", server, answer.error().message)};
  Asked asked{std::move(*answer), {}};
  boost::json::error_code failure;
  boost::json::value parsed = boost::json::parse(asked.answer.body, failure);
  if (!failure && parsed.is_object()) asked.body = std::move(parsed.as_object());
  return asked;
}

std::vector<std::pair<std::string, std::string>> parse_entries(
    const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const std::string& text : texts) {
    const std::size_t at = text.find('=');
    if (at == std::string::npos || at == 0) {
      throw CLI::ValidationError("KEY=VALUE", "'" + text + "' is not KEY=VALUE");
    }
    entries.emplace_back(text.substr(0, at), text.substr(at + 1));
  }
  return entries;
}

std::string text_of(const boost::json::object& object, std::string_view name) {
  const boost::json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string{value->as_string()} : std::string{};
}

std::string problem_text(const Asked& asked) {
  std::string text = text_of(asked.body, "detail");
  if (text.empty()) text = text_of(asked.body, "title");
  if (text.empty()) text = fmt::format("status {}", asked.answer.status);
  const std::string field = text_of(asked.body, "field");
  return field.empty() ? text : fmt::format("{} ({})", text, field);
}

std::string wait_text(std::int64_t milliseconds) {
  if (milliseconds < 1000) return fmt::format("{}ms", milliseconds);
  const std::int64_t seconds = (milliseconds + 999) / 1000;
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m {}s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{}h {}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d {}h", seconds / 86400, seconds / 3600 % 24);
}

bool has_colours() {
  const char* const no_color =
      std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): nobody sets it.
  return ::isatty(STDOUT_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

}  // namespace sluice
