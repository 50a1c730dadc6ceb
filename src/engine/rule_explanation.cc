#include "engine/rule_explanation.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/closest_name.h"
#include "base/duration_text.h"

namespace sluice {
namespace {

constexpr std::size_t kNearMissesMax = 5;
constexpr std::size_t kSiblingsSeen = 10'000;  // Distances to a million values would take long.

std::string node_text(const RuleSet& rules, const RuleNode& node) {
  std::string text{rules.key(node)};
  if (node.value_size > 0) text.append("=").append(rules.value(node));
  return text;
}

std::string place_text(const RuleSet& rules, const RuleNode& node) {
  std::string place{rules.file(node)};
  if (node.line > 0) place.append(":").append(std::to_string(node.line));
  return place;
}

class Explainer {
 public:
  Explainer(const RuleMatcher& matcher, std::span<const Entry> entries, TextStyle style)
      : matcher_(matcher), rules_(matcher.rules()), entries_(entries), style_(style) {}

  std::string explain(std::string_view domain_name) {
    const RuleDomain* const domain = matcher_.find_domain(domain_name);
    if (domain == nullptr) return unknown_domain(domain_name);
    const RuleNode* node = nullptr;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const RuleNode* const next = match(*domain, i + 1).node;
      if (next == nullptr) {
        explain_miss(*domain, node, entries_[i]);
        return std::move(text_);
      }
      node = next;
      explain_node(*node, entries_[i]);
    }
    if (node != nullptr) explain_limits(*domain, *node);
    return std::move(text_);
  }

 private:
  RuleMatch match(const RuleDomain& domain, std::size_t count) {
    if (count > identity_.size()) return {};
    return matcher_.match(domain, entries_.first(count), identity_);
  }

  std::string unknown_domain(std::string_view name) {
    std::vector<std::string_view> names;
    for (const RuleDomain& known : rules_.domains()) names.push_back(known.name);
    verdict("allowed: there is no domain '" + std::string{name} + "'" + did_you_mean(name, names));
    return std::move(text_);
  }

  void explain_node(const RuleNode& node, const Entry& entry) {
    const char* how = "the key alone";
    if (node.is_pattern) {
      how =
          node.share_threshold ? "the pattern, counted together for all that fits" : "the pattern";
    } else if (node.value_size > 0) {
      how = "the exact value";
    }
    text_.append("  ").append(entry.key).append("=").append(entry.value);
    text_.append("  matches  ").append(strong(node_text(rules_, node)));
    text_.append("  by ").append(how).append("  ").append(faint(place_text(rules_, node)));
    text_ += '\n';
  }

  void explain_limits(const RuleDomain& domain, const RuleNode& node) {
    const RuleMatch found = match(domain, entries_.size());
    if (found.limits.empty()) {
      verdict("allowed: this rule has no limit");
      if (node.first_child != kNoIndex) list_near_misses(node.first_child, {}, "one entry more");
      return;
    }
    verdict(found.limits.size() == 1 ? "limited by" : "limited by all of");
    for (const RuleLimit& rule : found.limits) {
      text_.append("  ").append(strong(rule.label)).append("  ").append(describe_limit(rule));
      text_ += '\n';
      if (!rule.unlimited) explain_counter(rule);
      for (const std::string& name : rule.replaces) {
        text_.append("    replaces '").append(name).append("' in a request that has both\n");
      }
    }
    if (!found.metadata.empty()) text_.append("  metadata ").append(found.metadata).append("\n");
  }

  void explain_counter(const RuleLimit& rule) {
    text_.append("    counted as ").append(rule.id).append(" for");
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      text_.append(i == 0 ? " " : ", ").append(identity_[i].empty() ? "''" : identity_[i]);
    }
    text_ += '\n';
  }

  void explain_miss(const RuleDomain& domain, const RuleNode* above, const Entry& entry) {
    text_.append("  ").append(entry.key).append("=").append(entry.value);
    text_.append("  matches  nothing\n");
    verdict("allowed: no rule for this descriptor");
    const std::uint32_t first = above == nullptr ? domain.first_node : above->first_child;
    if (first == kNoIndex) {
      text_.append(
          "  the rule above ends there: a descriptor has to have as many entries as its "
          "rule\n");
    } else {
      list_near_misses(first, entry, "here");
    }
  }

  // Rules of the same key, nearest values first; else rules of the nearest keys.
  void list_near_misses(std::uint32_t first, const Entry& entry, const char* where) {
    struct Near {
      std::size_t distance;
      const RuleNode* node;
    };
    std::vector<Near> near;
    for (std::uint32_t i = first; i != kNoIndex && near.size() < kSiblingsSeen;
         i = rules_.nodes()[i].next_sibling) {
      const RuleNode& node = rules_.nodes()[i];
      const bool same_key = rules_.key(node) == entry.key;
      // Any other key is farther than every value of the same one.
      const std::size_t distance = same_key ? bounded_distance(entry.value, rules_.value(node))
                                            : 1000 + bounded_distance(entry.key, rules_.key(node));
      near.push_back({distance, &node});
    }
    std::ranges::stable_sort(near, {}, &Near::distance);
    text_.append("  what would match ").append(where).append(":\n");
    for (const Near& miss : std::span(near).first(std::min(near.size(), kNearMissesMax))) {
      text_.append("    ").append(node_text(rules_, *miss.node)).append("  ");
      text_.append(faint(place_text(rules_, *miss.node))).append("\n");
    }
    if (near.size() > kNearMissesMax) {
      text_.append("    and ").append(std::to_string(near.size() - kNearMissesMax));
      text_.append(near.size() == kSiblingsSeen ? " or more" : " more").append("\n");
    }
  }

  static std::size_t bounded_distance(std::string_view a, std::string_view b) {
    constexpr std::size_t kCompared = 64;
    return edit_distance(a.substr(0, kCompared), b.substr(0, kCompared));
  }

  void verdict(const std::string& words) { text_.append(strong(words)).append("\n"); }

  std::string strong(const std::string& words) const {
    return style_ == TextStyle::plain ? words : "\x1b[1m" + words + "\x1b[0m";
  }
  std::string faint(const std::string& words) const {
    return style_ == TextStyle::plain ? words : "\x1b[2m" + words + "\x1b[0m";
  }

  const RuleMatcher& matcher_;
  const RuleSet& rules_;
  std::span<const Entry> entries_;
  TextStyle style_;
  std::array<std::string_view, kRuleDepthMax> identity_;
  std::string text_;
};

}  // namespace

std::string explain_match(const RuleMatcher& matcher, std::string_view domain,
                          std::span<const Entry> entries, TextStyle style) {
  return Explainer(matcher, entries, style).explain(domain);
}

std::string describe_limit(const RuleLimit& rule) {
  if (rule.unlimited) return "unlimited";
  const Limit& limit = rule.limit;
  std::string text = std::to_string(limit.requests);
  if (limit.algorithm == Algorithm::concurrency) {
    text.append(" at once, permits last ").append(format_duration(limit.permit_ttl));
  } else {
    text.append(" each ").append(format_duration(limit.period));
    text.append(", ").append(algorithm_name(limit.algorithm));
  }
  if (limit.algorithm == Algorithm::token_bucket || limit.algorithm == Algorithm::leaky_bucket) {
    text.append(", burst ").append(std::to_string(limit.burst));
  }
  if (limit.sub_windows > 0) text.append(" of ").append(std::to_string(limit.sub_windows));
  if (limit.block_for > Duration{0}) {
    text.append(", then blocked for ").append(format_duration(limit.block_for));
  }
  if (limit.count_denied) text.append(", refused hits count");
  if (limit.overdraft) text.append(", into debt");
  if (rule.shadow_mode) text.append(" (shadow: refuses nothing)");
  if (rule.quota_mode) text.append(" (quota: refuses when all quotas do)");
  return text;
}

}  // namespace sluice
