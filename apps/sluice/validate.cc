#include "validate.h"

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "config/rule_loader.h"
#include "config/settings.h"

namespace sluice {
namespace {

struct Options {
  std::vector<std::string> paths;
  bool is_strict = false;
};

// Problems go to standard output: they are what was asked for.
class Report {
 public:
  void errors(const std::vector<Problem>& problems) { print(problems, "", "\x1b[31m"); }
  void warnings(const std::vector<Problem>& problems) { print(problems, "warning: ", "\x1b[33m"); }
  std::size_t count() const { return count_; }

 private:
  void print(const std::vector<Problem>& problems, const char* word, const char* colour) {
    for (Problem problem : problems) {
      problem.message.insert(0, word);
      const std::string text = problem_text(problem);
      fmt::print("{}{}{}\n", is_terminal_ ? colour : "", text, is_terminal_ ? "\x1b[0m" : "");
    }
    count_ += problems.size();
  }

  bool is_terminal_ = isatty(STDOUT_FILENO) != 0;
  std::size_t count_ = 0;
};

int validate(const Options& options) {
  Report report;
  std::vector<std::string> rule_paths;
  std::size_t settings_files = 0;
  for (const std::string& path : options.paths) {
    if (!is_settings_file(path)) {
      rule_paths.push_back(path);
      continue;
    }
    ++settings_files;
    const LoadedSettings loaded = load_settings({.file = path});
    report.errors(loaded.errors);
    if (options.is_strict) report.warnings(loaded.warnings);
  }
  const LoadedRules loaded = load_rules(rule_paths);
  report.errors(loaded.errors);
  if (options.is_strict) report.warnings(loaded.warnings);
  if (report.count() > 0) return 1;
  fmt::print("good: {} settings files, {} rule files with {} domains, {} descriptors, {} limits\n",
             settings_files, loaded.files.size(), loaded.rules.domains().size(),
             loaded.rules.nodes().size(), loaded.rules.limits().size());
  if (!options.is_strict && !loaded.warnings.empty()) {
    fmt::print("{} warnings; --strict shows them\n", loaded.warnings.size());
  }
  return 0;
}

}  // namespace

void add_validate(CLI::App& app, int& exit_status) {
  auto options = std::make_shared<Options>();
  CLI::App* const command =
      app.add_subcommand("validate", "Check rule and settings files, without a daemon.");
  command->add_option("PATH", options->paths, "Rule files, folders of them, settings files")
      ->required()
      ->expected(1, -1);
  command->add_flag("--strict", options->is_strict,
                    "Show warnings too (rules that never apply, ...) and fail on them");
  command->footer(
      "Every problem is one line, file:line: reason. Exit status: 0 good, 1 problems, 2 usage.\n"
      "Example: sluice validate --strict rules/ sluice.yaml");
  command->callback([options, &exit_status] { exit_status = validate(*options); });
}

}  // namespace sluice
