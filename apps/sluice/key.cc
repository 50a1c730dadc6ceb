// Exit status: 0, 1 no such domain or rule, 2 wrong usage, 4 no daemon.
#include "key.h"

#include <cstdio>
#include <memory>

#include <boost/json/array.hpp>
#include <fmt/format.h>

#include "ask.h"
#include "wire/query.h"

namespace sluice {
namespace {

constexpr int kNotFound = 1;
constexpr int kNoDaemon = 4;

struct Flags {
  std::string domain;
  std::vector<std::string> entries;
  std::string server = "127.0.0.1:6070";
  bool wants_json = false;
};

std::string target_of(const Flags& flags) {
  std::string target = "/v1/keys?domain=" + encode_query_part(flags.domain);
  for (const auto& [key, value] : parse_entries(flags.entries)) {
    target += '&' + encode_query_part(key) + '=' + encode_query_part(value);
  }
  return target;
}

std::string view_text(const boost::json::object& view) {
  const auto number = [&](std::string_view name) -> std::int64_t {
    const boost::json::value* const value = view.if_contains(name);
    return value != nullptr && value->is_int64() ? value->as_int64() : 0;
  };
  const std::int64_t reset = number("reset_after_ms");
  return fmt::format("{}  {} left{}\n", text_of(view, "rule"), number("remaining"),
                     reset > 0 ? ", as new in " + wait_text(reset) : ", at rest");
}

std::string body_text(const boost::json::object& body) {
  std::string text;
  if (const boost::json::value* const keys = body.if_contains("keys"); keys && keys->is_array()) {
    for (const boost::json::value& key : keys->as_array()) {
      if (key.is_object()) text += view_text(key.as_object());
    }
    return text;
  }
  const boost::json::value* const known = body.if_contains("reset");
  return fmt::format("{} reset\n", known != nullptr && known->is_int64() ? known->as_int64() : 0);
}

int run(const Flags& flags, std::string_view method) {
  const auto asked = ask(flags.server, method, target_of(flags), {});
  if (!asked) {
    std::fprintf(stderr, "sluice key: %s; is the daemon's admin port there?\n",
                 asked.error().message.c_str());
    return kNoDaemon;
  }
  if (asked->answer.status != 200) {
    std::fprintf(stderr, "sluice key: %s\n", problem_text(*asked).c_str());
    return kNotFound;
  }
  const std::string text = flags.wants_json ? asked->answer.body : body_text(asked->body);
  std::fputs(text.c_str(), stdout);
  return 0;
}

}  // namespace

void add_key(CLI::App& app, int& exit_status) {
  CLI::App* key = app.add_subcommand("key", "Look at or reset one key of a running daemon");
  key->require_subcommand(1);
  key->footer(
      "Examples:\n"
      "  sluice key get --domain api api_key=k1\n"
      "  sluice key reset --domain api login=ada\n"
      "\n"
      "Exit status: 0; 1 no such domain or rule; 2 wrong usage; 4 no daemon.");
  const auto add = [&](const char* name, const char* meaning, const char* method) {
    auto flags = std::make_shared<Flags>();
    CLI::App* one = key->add_subcommand(name, meaning);
    one->add_option("--domain", flags->domain, "Domain of the rules")
        ->required()
        ->type_name("NAME");
    one->add_option("entries", flags->entries, "The entries of one descriptor, in order")
        ->required()
        ->type_name("KEY=VALUE");
    one->add_option("--server", flags->server, "The daemon's admin port")
        ->capture_default_str()
        ->type_name("HOST:PORT");
    one->add_flag("--json", flags->wants_json, "Print the daemon's answer as it is");
    one->callback([flags, method, &exit_status] { exit_status = run(*flags, method); });
  };
  add("get", "What is left of each limit that the descriptor meets; charges nothing", "GET");
  add("reset", "Forget what was counted: the key is as new", "DELETE");
}

}  // namespace sluice
