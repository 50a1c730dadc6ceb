// Exit status: 0 allowed, 2 the daemon does not take the request, 3 denied or shed, 4 undecided or
// no daemon.
#include "check.h"

#include <cstdio>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "ask.h"
#include "load/json_line.h"

namespace sluice {
namespace {

constexpr int kRefusedRequest = 2;
constexpr int kDenied = 3;
constexpr int kUndecided = 4;

constexpr const char* kExamples =
    "Examples:\n"
    "  sluice check --domain api api_key=k1\n"
    "  sluice check --domain api address=192.0.2.7 path=/search --hits 2 --json\n"
    "  if sluice check --domain api login=ada; then ...; fi\n"
    "\n"
    "Exit status: 0 allowed; 2 wrong usage; 3 denied or shed; 4 undecided or no daemon.";

struct Flags {
  std::string domain;
  std::vector<std::string> entries;
  std::optional<std::uint32_t> hits;
  std::string server = "127.0.0.1:8080";
  bool is_peek = false;
  bool wants_json = false;
};

std::string body_of(const Flags& flags) {
  std::string list;
  for (const auto& [key, value] : parse_entries(flags.entries)) {
    load::JsonLine entry;
    entry.member("key", std::string_view{key}).member("value", std::string_view{value});
    list += (list.empty() ? "" : ",") + entry.text();
  }
  load::JsonLine body;
  body.member("domain", std::string_view{flags.domain})
      .raw("descriptors", "[" + load::JsonLine{}.raw("entries", "[" + list + "]").text() + "]");
  if (flags.hits) body.member("hits", std::uint64_t{*flags.hits});
  return body.text();
}

std::optional<std::int64_t> whole(const boost::json::object& body, std::string_view name) {
  const boost::json::value* const value = body.if_contains(name);
  return value != nullptr && value->is_int64() ? std::optional{value->as_int64()} : std::nullopt;
}

// What follows the verdict: `api_key: 99 of 100 left, full again in 41s`.
std::string numbers_text(const boost::json::object& body) {
  const auto limit = whole(body, "limit");
  if (!limit) return "no limit applies";
  std::string text = fmt::format("{}: {} of {} left", text_of(body, "rule"),
                                 whole(body, "remaining").value_or(0), *limit);
  const auto retry = whole(body, "retry_after_ms");
  if (text_of(body, "verdict") == "denied") {
    text += retry ? fmt::format(", try again in {}", wait_text(*retry)) : ", this can never fit";
  } else if (const auto delay = whole(body, "delay_ms"); delay && *delay > 0) {
    text += fmt::format(", hold it for {}", wait_text(*delay));
  }
  if (const auto reset = whole(body, "reset_after_ms"); reset && *reset > 0 && retry != reset) {
    text += fmt::format(", as new in {}", wait_text(*reset));
  }
  if (const std::string permit = text_of(body, "permit"); !permit.empty()) {
    text += ", permit " + permit;
  }
  return text;
}

// 0 to 4, and the word for it.
std::pair<int, std::string_view> outcome_of(const Asked& asked) {
  const std::string verdict = text_of(asked.body, "verdict");
  if (asked.answer.status == 200 && verdict == "allowed") return {0, "allowed"};
  if (asked.answer.status == 429 || verdict == "denied") return {kDenied, "denied"};
  const bool is_shed = text_of(asked.body, "type").ends_with("temporary-reduced-capacity");
  if (asked.answer.status == 503 && is_shed) return {kDenied, "shed"};
  if (asked.answer.status == 503) return {kUndecided, "undecided"};
  if (asked.answer.status == 400 || asked.answer.status == 413) return {kRefusedRequest, "refused"};
  return {kUndecided, "no answer"};
}

int run(const Flags& flags) {
  const std::string_view path = flags.is_peek ? "/v1/peek" : "/v1/check";
  const auto asked = ask(flags.server, "POST", path, body_of(flags));
  if (!asked) {
    std::fprintf(stderr, "sluice check: %s; is `sluice serve` running there?\n",
                 asked.error().message.c_str());
    return kUndecided;
  }
  const auto [status, word] = outcome_of(*asked);
  if (flags.wants_json) {
    std::fputs(asked->answer.body.c_str(), stdout);
    if (!asked->answer.body.ends_with('\n')) std::fputc('\n', stdout);
    return status;
  }
  const bool has_numbers = status == 0 || word == "denied";
  const std::string text = has_numbers ? numbers_text(asked->body) : problem_text(*asked);
  constexpr std::string_view kGreen = "\x1b[32m", kRed = "\x1b[31m", kPlain = "\x1b[0m";
  const bool colours = has_colours();
  const std::string line = fmt::format("{}{}{}  {}\n", colours ? (status == 0 ? kGreen : kRed) : "",
                                       word, colours ? kPlain : "", text);
  std::fputs(line.c_str(), stdout);
  return status;
}

}  // namespace

void add_check(CLI::App& app, int& exit_status) {
  auto flags = std::make_shared<Flags>();
  CLI::App* check = app.add_subcommand("check", "Ask a running daemon for one decision");
  check->footer(kExamples);
  check->add_option("--domain", flags->domain, "Domain of the rules")
      ->required()
      ->type_name("NAME");
  check->add_option("entries", flags->entries, "The entries of one descriptor, in order")
      ->required()
      ->type_name("KEY=VALUE");
  check->add_option("--hits", flags->hits, "How much it costs (default 1)")->type_name("N");
  check->add_option("--server", flags->server, "The daemon's data port")
      ->capture_default_str()
      ->type_name("HOST:PORT");
  check->add_flag("--peek", flags->is_peek, "Ask without charging");
  check->add_flag("--json", flags->wants_json, "Print the daemon's answer as it is");
  check->callback([flags, &exit_status] { exit_status = run(*flags); });
}

}  // namespace sluice
