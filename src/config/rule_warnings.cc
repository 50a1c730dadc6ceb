#include "config/rule_warnings.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace sluice {
namespace {

constexpr std::size_t kPatternsCompared = 1000;  // Of one key: each with all before it.

class Warner {
 public:
  explicit Warner(const RuleSet& rules) : rules_(rules) {}

  std::vector<Problem> warnings() {
    for (const RuleDomain& domain : rules_.domains()) compare_siblings(domain.first_node);
    for (const RuleNode& node : rules_.nodes()) {
      if (node.first_child != kNoIndex) compare_siblings(node.first_child);
    }
    find_names_replaced_in_vain();
    return std::move(warnings_);
  }

 private:
  // An earlier pattern takes whatever fits it. It takes all of a later one when that one's text
  // fits it: a `*` in the text can only be covered by a `*`.
  void compare_siblings(std::uint32_t first) {
    std::map<std::uint32_t, std::vector<std::uint32_t>> patterns;  // By key.
    for (std::uint32_t i = first; i != kNoIndex; i = rules_.nodes()[i].next_sibling) {
      const RuleNode& node = rules_.nodes()[i];
      if (!node.is_pattern) continue;
      std::vector<std::uint32_t>& earlier = patterns[node.key];
      if (earlier.size() >= kPatternsCompared) continue;
      const auto covers = [&](std::uint32_t other) {
        return fits_pattern(rules_.value(rules_.nodes()[other]), rules_.value(node));
      };
      const auto covering = std::ranges::find_if(earlier, covers);
      if (covering != earlier.end()) {
        warn(node, "never applies: " + place(rules_.nodes()[*covering]) + " takes all that fits '" +
                       std::string{rules_.value(node)} + "'");
      }
      earlier.push_back(i);
    }
    if (patterns.empty()) return;
    for (std::uint32_t i = first; i != kNoIndex; i = rules_.nodes()[i].next_sibling) {
      const RuleNode& node = rules_.nodes()[i];
      if (node.value_size > 0) continue;
      for (const std::uint32_t other : patterns[node.key]) {
        if (rules_.value(rules_.nodes()[other]).find_first_not_of('*') != std::string::npos) {
          continue;
        }
        warn(node, "never applies: " + place(rules_.nodes()[other]) + " takes every value");
      }
    }
  }

  void find_names_replaced_in_vain() {
    std::set<std::pair<std::string_view, std::string_view>> names;
    for (const RuleLimit& rule : rules_.limits()) names.emplace(rule.domain, rule.name);
    std::set<std::string_view> told;
    for (const RuleNode& node : rules_.nodes()) {
      for (const RuleLimit& rule : rules_.limits(node)) {
        for (const std::string& name : rule.replaces) {
          if (names.contains({rule.domain, name}) || !told.insert(name).second) continue;
          warn(node, "replaces: no limit of the domain is called '" + name + "'");
        }
      }
    }
  }

  std::string place(const RuleNode& node) const {
    return "line " + std::to_string(node.line) + " ('" + std::string{rules_.value(node)} + "')";
  }

  void warn(const RuleNode& node, std::string message) {
    warnings_.push_back({std::string{rules_.file(node)}, node.line, std::move(message)});
  }

  const RuleSet& rules_;
  std::vector<Problem> warnings_;
};

}  // namespace

std::vector<Problem> warnings_about(const RuleSet& rules) {
  return Warner(rules).warnings();
}

}  // namespace sluice
