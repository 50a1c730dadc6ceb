#include "sluice/vocabulary/rule_set.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sluice {
namespace {

std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed = 0) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

// Only a prefilter: equal lists have equal hashes.
std::uint64_t hash_list(const std::vector<RuleLimit>& limits, bool is_list) {
  std::uint64_t hash = is_list ? 1 : 0;
  for (const RuleLimit& rule : limits) {
    hash = hash_bytes(rule.name, hash + rule.limit.requests);
    hash = hash_bytes({}, hash + static_cast<std::uint64_t>(rule.limit.period.count()));
    hash = hash_bytes({}, hash + rule.limit.burst + static_cast<std::uint64_t>(rule.scope));
  }
  return hash;
}

// In the largest unit that holds it in whole numbers: `60s`, `100ms`.
std::string period_text(Duration period) {
  struct Unit {
    std::int64_t ns;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}};
  for (const Unit& unit : kUnits) {
    if (period.count() % unit.ns == 0) return std::to_string(period.count() / unit.ns) + unit.name;
  }
  return std::to_string(period.count()) + "ns";
}

// What tells a limit from the others of its list.
std::string list_part(const RuleLimit& rule) {
  if (!rule.name.empty()) return rule.name;
  std::string part{algorithm_name(rule.limit.algorithm)};
  if (rule.unlimited) return "unlimited";
  if (rule.limit.algorithm != Algorithm::concurrency) part += '-' + period_text(rule.limit.period);
  return part;
}

template <typename T>
std::size_t heap_bytes(const std::vector<T>& vector) {
  return vector.capacity() * sizeof(T);
}

std::size_t heap_bytes(const std::string& text) {
  return text.capacity() > std::string().capacity() ? text.capacity() + 1 : 0;
}

}  // namespace

void append_rule_id(std::string& id, std::string_view part) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (!id.empty()) id += '/';
  for (const char c : part) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                          (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (is_plain) {
      id += c;
    } else {
      id += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
}

bool fits_pattern(std::string_view pattern, std::string_view value) noexcept {
  std::size_t at = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_value = 0;  // Where the run of the last star ends, so far.
  std::size_t next = 0;
  while (at < value.size()) {
    if (next < pattern.size() && pattern[next] == '*') {
      star = next++;
      star_value = at;
    } else if (next < pattern.size() && pattern[next] == value[at]) {
      ++next;
      ++at;
    } else if (star != std::string_view::npos) {
      next = star + 1;
      at = ++star_value;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', next) == std::string_view::npos;
}

std::size_t RuleSet::memory_bytes() const noexcept {
  std::size_t bytes = heap_bytes(domains_) + heap_bytes(nodes_) + heap_bytes(limits_) +
                      heap_bytes(keys_) + heap_bytes(metadata_) + heap_bytes(files_) +
                      heap_bytes(values_);
  for (const RuleLimit& rule : limits_) {
    bytes += heap_bytes(rule.domain) + heap_bytes(rule.id) + heap_bytes(rule.label) +
             heap_bytes(rule.name) + heap_bytes(rule.replaces);
  }
  for (const auto* texts : {&keys_, &metadata_, &files_}) {
    for (const std::string& text : *texts) bytes += heap_bytes(text);
  }
  return bytes;
}

// A path of keys: what the nodes that differ in their values alone have in common.
struct RuleSetBuilder::Interned {
  struct Path {
    std::uint32_t domain = 0;
    std::size_t depth = 0;  // Keys below the domain.
    std::string id = {};
    std::string label = {};
  };
  std::vector<Problem>& problems;
  std::vector<Path> paths{};
  std::vector<std::uint32_t> node_paths{};
  std::unordered_map<std::uint64_t, std::uint32_t> path_numbers{};  // Parent path and key.
  std::unordered_map<std::uint64_t, std::uint32_t> ranges{};        // Path and list -> first limit.
  std::unordered_map<std::string, std::size_t> id_depths{};
};

RuleSetBuilder::RuleSetBuilder(SameDomain same_domain) : same_domain_(same_domain) {
  set_.files_.emplace_back();
}

void RuleSetBuilder::begin_file(std::string name) {
  set_.files_.push_back(std::move(name));
}

std::uint32_t RuleSetBuilder::open_domain(std::uint32_t line) {
  const auto number = static_cast<std::uint32_t>(set_.domains_.size());
  set_.domains_.push_back({.index = number});
  domain_lines_.push_back(line);
  domain_files_.push_back(static_cast<std::uint16_t>(set_.files_.size() - 1));
  return kDomainParent + number;
}

void RuleSetBuilder::define_domain(std::uint32_t domain, std::string_view name, bool charge_each) {
  RuleDomain& defined = set_.domains_[domain - kDomainParent];
  defined.name = name;
  defined.charge_each = charge_each;
}

std::uint32_t RuleSetBuilder::open_node(std::uint32_t parent, std::uint32_t line) {
  const auto number = static_cast<std::uint32_t>(set_.nodes_.size());
  RuleNode node{.parent = parent, .line = line};
  node.file = static_cast<std::uint16_t>(set_.files_.size() - 1);
  node.key = intern_key({});
  set_.nodes_.push_back(node);
  return number;
}

// Until build(), first_limit is the number of the list in lists_.
void RuleSetBuilder::define_node(std::uint32_t number, const RuleDraft& draft) {
  RuleNode& node = set_.nodes_[number];
  node.key = intern_key(draft.key);
  node.value_offset = static_cast<std::uint32_t>(set_.values_.size());
  node.value_size = static_cast<std::uint32_t>(draft.value.size());
  set_.values_.insert(set_.values_.end(), draft.value.begin(), draft.value.end());
  node.is_pattern = draft.value.find('*') != std::string_view::npos;
  node.share_threshold = draft.share_threshold;
  node.value_to_metric = draft.value_to_metric;
  node.limit_count = static_cast<std::uint16_t>(draft.limits.size());
  if (!draft.limits.empty()) node.first_limit = intern_list(draft.limits, draft.is_list);
  if (!draft.metadata.empty()) {
    const auto [known, is_new] =
        metadata_numbers_.try_emplace(std::string{draft.metadata}, set_.metadata_.size());
    if (is_new) set_.metadata_.emplace_back(draft.metadata);
    node.metadata = known->second;
  }
}

std::uint32_t RuleSetBuilder::add_domain(std::string_view name, bool charge_each) {
  const std::uint32_t domain = open_domain();
  define_domain(domain, name, charge_each);
  return domain;
}

std::uint32_t RuleSetBuilder::add_node(std::uint32_t parent, const RuleDraft& draft) {
  const std::uint32_t node = open_node(parent);
  define_node(node, draft);
  return node;
}

std::uint32_t RuleSetBuilder::intern_key(std::string_view key) {
  const auto [known, is_new] = key_numbers_.try_emplace(std::string{key}, set_.keys_.size());
  if (is_new) set_.keys_.emplace_back(key);
  return known->second;
}

std::uint32_t RuleSetBuilder::intern_list(const std::vector<RuleLimit>& limits, bool is_list) {
  const std::uint64_t hash = hash_list(limits, is_list);
  const auto [first, last] = list_numbers_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    const LimitList& list = lists_[known->second];
    if (list.is_list == is_list && list.limits == limits) return known->second;
  }
  const auto number = static_cast<std::uint32_t>(lists_.size());
  lists_.push_back({limits, is_list});
  list_numbers_.emplace(hash, number);
  return number;
}

RuleSet RuleSetBuilder::build(std::vector<Problem>& problems) {
  Interned scratch{problems};
  if (set_.values_.size() > kNoIndex) {
    problems.push_back({"", 0, "values: more than 4 GiB together"});
    return {};
  }
  const std::size_t problems_before = problems.size();
  join_domains(scratch);
  resolve_limits(scratch);
  link_nodes();
  refuse_duplicates(scratch);
  set_.nodes_.shrink_to_fit();
  set_.values_.shrink_to_fit();
  set_.limits_.shrink_to_fit();
  RuleSet built = std::move(set_);
  *this = RuleSetBuilder{same_domain_};
  if (problems.size() > problems_before) return {};
  return built;
}

void RuleSetBuilder::report(const RuleNode& node, std::string message,
                            std::vector<Problem>& problems) const {
  problems.push_back({set_.files_[node.file], node.line, std::move(message)});
}

void RuleSetBuilder::join_domains(Interned& scratch) {
  std::unordered_map<std::string_view, std::uint32_t> known;
  std::vector<RuleDomain> kept;
  std::vector<std::uint32_t> numbers;  // Old number -> new.
  for (const RuleDomain& domain : set_.domains_) {
    const std::string& file = set_.files_[domain_files_[domain.index]];
    const std::uint32_t line = domain_lines_[domain.index];
    if (domain.name.empty()) {
      scratch.problems.push_back({file, line, "a rule file cannot have an empty domain"});
    }
    const auto [first, is_new] = known.try_emplace(domain.name, domain.index);
    if (is_new) {
      numbers.push_back(static_cast<std::uint32_t>(kept.size()));
      kept.push_back(domain);
      kept.back().index = numbers.back();
      continue;
    }
    RuleDomain& earlier = kept[numbers[first->second]];
    numbers.push_back(earlier.index);
    if (same_domain_ == SameDomain::refuse && !domain.name.empty()) {
      scratch.problems.push_back({file, line,
                                  "duplicate domain '" + domain.name + "', first in " +
                                      set_.files_[domain_files_[first->second]]});
    }
    earlier.charge_each = earlier.charge_each || domain.charge_each;
  }
  for (RuleNode& node : set_.nodes_) {
    if (node.parent >= kDomainParent) {
      node.parent = kDomainParent + numbers[node.parent - kDomainParent];
    }
  }
  set_.domains_ = std::move(kept);
}

// A parent stands before its children, so one pass backwards links siblings in the file's order.
void RuleSetBuilder::link_nodes() {
  for (std::size_t i = set_.nodes_.size(); i-- > 0;) {
    RuleNode& node = set_.nodes_[i];
    std::uint32_t& first = node.parent >= kDomainParent
                               ? set_.domains_[node.parent - kDomainParent].first_node
                               : set_.nodes_[node.parent].first_child;
    node.next_sibling = std::exchange(first, static_cast<std::uint32_t>(i));
  }
}

void RuleSetBuilder::resolve_limits(Interned& scratch) {
  using Path = Interned::Path;
  for (const RuleDomain& domain : set_.domains_) {
    scratch.paths.push_back({.domain = domain.index});
    append_rule_id(scratch.paths.back().id, domain.name);
  }
  scratch.node_paths.reserve(set_.nodes_.size());
  for (RuleNode& node : set_.nodes_) {
    const std::uint32_t above = node.parent >= kDomainParent ? node.parent - kDomainParent
                                                             : scratch.node_paths[node.parent];
    const auto [known, is_new] = scratch.path_numbers.try_emplace(
        (std::uint64_t{above} << 32) | node.key, scratch.paths.size());
    if (is_new) {
      Path path = scratch.paths[above];
      ++path.depth;
      const std::string& key = set_.keys_[node.key];
      append_rule_id(path.id, key);
      path.label += (path.label.empty() ? "" : "/") + key;
      scratch.paths.push_back(std::move(path));
    }
    scratch.node_paths.push_back(known->second);
    const std::size_t depth = scratch.paths[known->second].depth;
    if (set_.keys_[node.key].empty()) report(node, "descriptor has empty key", scratch.problems);
    if (depth == kRuleDepthMax + 1) {
      report(node, "descriptors: nested deeper than 16", scratch.problems);
    }
    if (node.limit_count > 0) place_limits(node, known->second, scratch);
  }
}

void RuleSetBuilder::place_limits(RuleNode& node, std::uint32_t path_number, Interned& scratch) {
  const std::uint32_t list_number = std::exchange(node.first_limit, 0);
  const auto [range, is_new] =
      scratch.ranges.try_emplace((std::uint64_t{path_number} << 32) | list_number);
  if (is_new) {
    const Interned::Path& path = scratch.paths[path_number];
    const LimitList& list = lists_[list_number];
    range->second = static_cast<std::uint32_t>(set_.limits_.size());
    for (RuleLimit rule : list.limits) {
      rule.domain = set_.domains_[path.domain].name;
      rule.id = path.id;
      rule.label = rule.name.empty() ? path.label : rule.name;
      if (list.is_list) {
        append_rule_id(rule.id, list_part(rule));
        if (rule.name.empty()) rule.label += '/' + list_part(rule);
      }
      rule.id_hash = hash_bytes(rule.id);
      rule.index = static_cast<std::uint32_t>(set_.limits_.size());
      check_id(rule, range->second, path.depth, node, scratch);
      set_.limits_.push_back(std::move(rule));
    }
  }
  node.first_limit = range->second;
}

// An id names one limit of a list, and always the same number of values: the key of a state is made
// of nothing else.
void RuleSetBuilder::check_id(const RuleLimit& rule, std::uint32_t first_of_list, std::size_t depth,
                              const RuleNode& node, Interned& scratch) {
  const auto same = [&](const RuleLimit& other) { return other.id == rule.id; };
  if (std::any_of(set_.limits_.begin() + first_of_list, set_.limits_.end(), same)) {
    report(node, "rate_limits: two limits are called '" + rule.id + "': give one a name of its own",
           scratch.problems);
  }
  const auto [known, is_new] = scratch.id_depths.try_emplace(rule.id, depth);
  if (known->second != depth) {
    report(node, "rate_limits: '" + rule.id + "' is also the path of another rule: change the name",
           scratch.problems);
  }
}

// The composite key of a node as envoyproxy/ratelimit writes it: domain.key1_value1.key2.
std::string RuleSetBuilder::composite_key(const RuleNode& leaf) const {
  std::string text;
  for (const RuleNode* node = &leaf;; node = &set_.nodes_[node->parent]) {
    std::string part{"."};
    part += set_.key(*node);
    if (node->value_size > 0) part.append("_").append(set_.value(*node));
    text.insert(0, part);
    if (node->parent >= kDomainParent) {
      return set_.domains_[node->parent - kDomainParent].name + text;
    }
  }
}

void RuleSetBuilder::refuse_duplicates(Interned& scratch) {
  std::vector<std::uint32_t> slots(std::bit_ceil(set_.nodes_.size() * 2 + 1), kNoIndex);
  for (std::uint32_t i = 0; i < set_.nodes_.size(); ++i) {
    const RuleNode& node = set_.nodes_[i];
    if (set_.keys_[node.key].empty()) continue;
    const std::uint64_t place = (std::uint64_t{node.parent} << 32) | node.key;
    std::size_t at = hash_bytes(set_.value(node), place) & (slots.size() - 1);
    for (; slots[at] != kNoIndex; at = (at + 1) & (slots.size() - 1)) {
      const RuleNode& other = set_.nodes_[slots[at]];
      if (other.parent != node.parent || other.key != node.key ||
          set_.value(other) != set_.value(node)) {
        continue;
      }
      report(node,
             "duplicate descriptor composite key '" + composite_key(node) + "', first at " +
                 set_.files_[other.file] + ':' + std::to_string(other.line),
             scratch.problems);
      break;
    }
    if (slots[at] == kNoIndex) slots[at] = i;
  }
}

}  // namespace sluice
