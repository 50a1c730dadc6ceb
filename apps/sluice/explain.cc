#include "explain.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "config/rule_loader.h"
#include "engine/rule_explanation.h"

namespace sluice {
namespace {

struct Options {
  std::vector<std::string> rules;
  std::string domain;
  std::vector<std::string> entries;
};

std::vector<Entry> entries_of(const Options& options) {
  std::vector<Entry> entries;
  for (const std::string_view text : options.entries) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      throw CLI::ValidationError("key=value", fmt::format("'{}' is not key=value", text));
    }
    entries.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return entries;
}

int explain(const Options& options) {
  const std::vector<Entry> entries = entries_of(options);
  LoadedRules loaded = load_rules(options.rules);
  for (const Problem& problem : loaded.errors) {
    fmt::print(stderr, "{}\n", problem_text(problem));
  }
  if (!loaded.errors.empty()) return 1;
  const RuleMatcher matcher(std::make_shared<const RuleSet>(std::move(loaded.rules)));
  const auto style = isatty(STDOUT_FILENO) != 0 ? TextStyle::terminal : TextStyle::plain;
  fmt::print("{}", explain_match(matcher, options.domain, entries, style));
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* const command = app.add_subcommand(
      "explain", "Show which rules a descriptor matches and why, without counting.");
  command->add_option("--rules", options->rules, "Rule files and folders; may be repeated")
      ->required()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--domain", options->domain, "The domain of the request")->required();
  command->add_option("key=value", options->entries, "The entries of one descriptor, in order")
      ->required()
      ->expected(1, -1);
  command->footer(
      "Exit status: 0, 1 when the rules have errors, 2 usage.\n"
      "Example: sluice explain --rules examples/quickstart.yaml --domain api address=192.0.2.1 "
      "path=/search");
  command->callback([options, &exit_status] { exit_status = explain(*options); });
}

}  // namespace sluice
