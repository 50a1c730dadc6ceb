// Rule files: envoyproxy/ratelimit's YAML, key for key, and our own keys (docs/rules.md). Read as
// a stream of events, so that a file of a million values costs the memory of its rule set alone.
// All problems of all files are told, not only the first; no input throws or ends the process.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/vocabulary/problem.h"
#include "sluice/vocabulary/rule_set.h"

namespace sluice {

inline constexpr std::size_t kRuleFilesMax = 10'000;
inline constexpr std::size_t kRuleFileBytesMax = std::size_t{1} << 30;
inline constexpr std::size_t kRuleNodesMax = 10'000'000;
inline constexpr std::size_t kRuleKeyBytesMax = 255;  // Also of a domain and a name.
inline constexpr std::size_t kRuleValueBytesMax = 4096;
inline constexpr std::size_t kRuleMetadataBytesMax = 16'384;
inline constexpr std::size_t kProblemsMax = 100;  // What more there is, is counted.

struct LoadedRules {
  RuleSet rules;  // Holds only when there are no errors.
  std::vector<Problem> errors;
  std::vector<Problem> warnings;  // Accepted, but probably not what was meant.
  std::vector<std::string> files;
};

struct RuleLoadOptions {
  RuleSetBuilder::SameDomain same_domain = RuleSetBuilder::SameDomain::refuse;
};

// Each path is a file, or a folder of which every *.yaml and *.yml is read in the order of names.
LoadedRules load_rules(std::span<const std::string> paths, const RuleLoadOptions& options = {});

// `file` names the text in problems.
LoadedRules parse_rules(std::string_view text, std::string_view file,
                        const RuleLoadOptions& options = {});

// `file:line: message`.
std::string problem_text(const Problem& problem);

}  // namespace sluice
