#include "engine/rule_matcher.h"

#include <algorithm>
#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice {
namespace {

std::uint64_t hash_place(std::uint32_t parent, std::uint32_t key) noexcept {
  const std::uint64_t place = (std::uint64_t{parent} << 32) | key;
  return (place ^ (place >> 29)) * 0x9e37'79b9'7f4a'7c15U;
}

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

std::uint64_t hash_value(std::uint32_t parent, std::uint32_t key, std::string_view value) noexcept {
  return hash_bytes(value, hash_place(parent, key));
}

std::uint64_t hash_ends(std::uint32_t parent, std::uint32_t key, std::string_view prefix,
                        std::string_view suffix) noexcept {
  return hash_bytes(suffix, hash_bytes(prefix, hash_place(parent, key)));
}

std::string_view literal_prefix(std::string_view pattern) noexcept {
  return pattern.substr(0, pattern.find('*'));
}

std::string_view literal_suffix(std::string_view pattern) noexcept {
  return pattern.substr(pattern.rfind('*') + 1);
}

}  // namespace

void RuleMatcher::Index::reserve(std::size_t items) {
  if (items > 0) slots_.resize(std::bit_ceil(items + items / 2 + 1));
}

void RuleMatcher::Index::insert(std::uint64_t hash, std::uint32_t item) noexcept {
  std::size_t at = hash & (slots_.size() - 1);
  while (slots_[at].item != kNoIndex) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = {static_cast<std::uint32_t>(hash >> 32), item};
}

template <typename Fits>
std::uint32_t RuleMatcher::Index::find(std::uint64_t hash, Fits fits) const noexcept {
  if (slots_.empty()) return kNoIndex;
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    const Slot slot = slots_[at];
    if (slot.item == kNoIndex || (slot.tag == tag && fits(slot.item))) return slot.item;
  }
}

RuleMatcher::RuleMatcher(std::shared_ptr<const RuleSet> rules) : rules_(std::move(rules)) {
  for (const RuleDomain& domain : rules_->domains()) domains_.emplace(domain.name, domain.index);
  for (const std::string& key : rules_->keys()) {
    keys_.emplace(key, static_cast<std::uint32_t>(&key - rules_->keys().data()));
  }
  add_values();
  add_patterns();
}

void RuleMatcher::add_values() {
  const std::span nodes = rules_->nodes();
  value_index_.reserve(static_cast<std::size_t>(
      std::ranges::count_if(nodes, [](const RuleNode& node) { return !node.is_pattern; })));
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const RuleNode& node = nodes[i];
    if (node.is_pattern) continue;
    value_index_.insert(hash_value(node.parent, node.key, rules_->value(node)), i);
  }
}

void RuleMatcher::add_patterns() {
  const std::span nodes = rules_->nodes();
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].is_pattern) pattern_nodes_.push_back(i);
  }
  const auto place = [&](std::uint32_t i) { return std::pair{nodes[i].parent, nodes[i].key}; };
  std::ranges::stable_sort(pattern_nodes_, {}, place);
  group_index_.reserve(pattern_nodes_.size());
  std::span<std::uint32_t> rest = pattern_nodes_;
  while (!rest.empty()) {
    const auto end = std::ranges::find_if(
        rest, [&, first = place(rest.front())](std::uint32_t i) { return place(i) != first; });
    const auto size = static_cast<std::size_t>(end - rest.begin());
    add_pattern_set(rest.first(size));
    rest = rest.subspan(size);
  }
  set_index_.reserve(sets_.size());
  for (std::uint32_t i = 0; i < sets_.size(); ++i) {
    set_index_.insert(hash_place(sets_[i].parent, sets_[i].key), i);
  }
}

void RuleMatcher::add_pattern_set(std::span<std::uint32_t> nodes) {
  const RuleNode& any = rules_->nodes()[nodes.front()];
  PatternSet set{any.parent, any.key, static_cast<std::uint32_t>(shapes_.size()), 0};
  for (const std::uint32_t i : nodes) {
    const std::string_view pattern = rules_->value(rules_->nodes()[i]);
    const auto prefix = static_cast<std::uint32_t>(literal_prefix(pattern).size());
    const auto suffix = static_cast<std::uint32_t>(literal_suffix(pattern).size());
    const auto known =
        std::find_if(shapes_.begin() + set.first, shapes_.end(), [&](const PatternShape& shape) {
          return shape.prefix_size == prefix && shape.suffix_size == suffix;
        });
    if (known == shapes_.end()) shapes_.push_back({prefix, suffix, i});
  }
  set.count = static_cast<std::uint32_t>(shapes_.size()) - set.first;
  sets_.push_back(set);
  add_pattern_groups(nodes);
}

void RuleMatcher::add_pattern_groups(std::span<std::uint32_t> nodes) {
  const auto ends = [&](std::uint32_t i) {
    const std::string_view pattern = rules_->value(rules_->nodes()[i]);
    return std::pair{literal_prefix(pattern), literal_suffix(pattern)};
  };
  std::ranges::stable_sort(nodes, {}, ends);
  for (std::size_t first = 0, last = 0; first < nodes.size(); first = last) {
    while (last < nodes.size() && ends(nodes[last]) == ends(nodes[first])) ++last;
    const RuleNode& node = rules_->nodes()[nodes[first]];
    const auto [prefix, suffix] = ends(nodes[first]);
    group_index_.insert(hash_ends(node.parent, node.key, prefix, suffix),
                        static_cast<std::uint32_t>(groups_.size()));
    groups_.push_back({static_cast<std::uint32_t>(&nodes[first] - pattern_nodes_.data()),
                       static_cast<std::uint32_t>(last - first)});
  }
}

const RuleDomain* RuleMatcher::find_domain(std::string_view name) const noexcept {
  const auto found = domains_.find(name);
  return found == domains_.end() ? nullptr : &rules_->domains()[found->second];
}

std::uint32_t RuleMatcher::find_value(std::uint32_t parent, std::uint32_t key,
                                      std::string_view value) const noexcept {
  return value_index_.find(hash_value(parent, key, value), [&](std::uint32_t i) {
    const RuleNode& node = rules_->nodes()[i];
    return node.parent == parent && node.key == key && rules_->value(node) == value;
  });
}

std::uint32_t RuleMatcher::find_pattern(std::uint32_t parent, std::uint32_t key,
                                        std::string_view value) const noexcept {
  const std::uint32_t set = set_index_.find(hash_place(parent, key), [&](std::uint32_t i) {
    return sets_[i].parent == parent && sets_[i].key == key;
  });
  if (set == kNoIndex) return kNoIndex;
  std::uint32_t best = kNoIndex;
  for (const PatternShape& shape : std::span(shapes_).subspan(sets_[set].first, sets_[set].count)) {
    if (shape.first_node >= best) break;
    if (shape.prefix_size + std::size_t{shape.suffix_size} > value.size()) continue;
    const std::string_view prefix = value.substr(0, shape.prefix_size);
    const std::string_view suffix = value.substr(value.size() - shape.suffix_size);
    const std::uint32_t group =
        group_index_.find(hash_ends(parent, key, prefix, suffix), [&](std::uint32_t i) {
          const RuleNode& node = rules_->nodes()[pattern_nodes_[groups_[i].first]];
          const std::string_view pattern = rules_->value(node);
          return node.parent == parent && node.key == key && literal_prefix(pattern) == prefix &&
                 literal_suffix(pattern) == suffix;
        });
    if (group == kNoIndex) continue;
    for (const std::uint32_t i :
         std::span(pattern_nodes_).subspan(groups_[group].first, groups_[group].count)) {
      if (i >= best) break;
      if (fits_pattern(rules_->value(rules_->nodes()[i]), value)) best = i;
    }
  }
  return best;
}

RuleMatch RuleMatcher::match(const RuleDomain& domain, std::span<const Entry> entries,
                             std::span<std::string_view> identity) const noexcept {
  if (entries.empty() || entries.size() > kRuleDepthMax) return {};
  RuleMatch match;
  std::uint32_t parent = kDomainParent + domain.index;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto key = keys_.find(entries[i].key);
    if (key == keys_.end()) return {};
    const std::string_view value = entries[i].value;
    // An empty value is never written out in a rule: a node without a value is the key alone.
    std::uint32_t found = kNoIndex;
    if (!value.empty()) found = find_value(parent, key->second, value);
    if (found == kNoIndex) found = find_pattern(parent, key->second, value);
    if (found == kNoIndex) found = find_value(parent, key->second, {});
    if (found == kNoIndex) return {};
    match.node = &rules_->nodes()[found];
    identity[i] = match.node->share_threshold ? rules_->value(*match.node) : value;
    if (match.node->value_to_metric) match.metric_values |= 1U << i;
    parent = found;
  }
  match.limits = rules_->limits(*match.node);
  match.metadata = rules_->metadata(*match.node);
  return match;
}

std::size_t RuleMatcher::memory_bytes() const noexcept {
  return value_index_.memory_bytes() + set_index_.memory_bytes() + group_index_.memory_bytes() +
         pattern_nodes_.capacity() * sizeof(std::uint32_t) +
         groups_.capacity() * sizeof(PatternGroup) + shapes_.capacity() * sizeof(PatternShape) +
         sets_.capacity() * sizeof(PatternSet);
}

void append_metric_label(std::string& label, const RuleMatch& match, const RuleLimit& limit,
                         std::span<const Entry> entries,
                         std::span<const std::string_view> identity) {
  const std::uint32_t shown = limit.detailed_metric ? ~0U : match.metric_values;
  if (shown == 0) {
    label += limit.label;
    return;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) label += '/';
    label += entries[i].key;
    if ((shown >> i & 1U) != 0) label.append("=").append(identity[i]);
  }
  // Limits of one list differ in the last part of their id.
  const auto parts = static_cast<std::size_t>(std::ranges::count(limit.id, '/'));
  if (parts > entries.size()) label += limit.id.substr(limit.id.rfind('/'));
}

}  // namespace sluice
