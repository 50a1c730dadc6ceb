// All rules of a snapshot as one immutable, compact tree: nodes in one array (a parent before its
// children, siblings in the order of the file), values in one arena, keys and lists of limits
// interned, so that a million exact values that share a limit cost about 60 bytes each. A set is
// built once by RuleSetBuilder and then only read, by any number of threads.
//
// A node is one entry `key` or `key=value` of envoyproxy/ratelimit's `descriptors`; how a request
// finds its node is the matcher's business (src/engine/rule_matcher.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sluice/vocabulary/problem.h"
#include "sluice/vocabulary/rule.h"

namespace sluice {

inline constexpr std::size_t kRuleDepthMax = 16;  // Entries from a domain down to a leaf.
inline constexpr std::uint32_t kNoIndex = 0xffff'ffff;
inline constexpr std::uint32_t kDomainParent = 0x8000'0000;  // RuleNode::parent: of the top level.

struct RuleNode {
  std::uint32_t parent = kNoIndex;  // A node, or kDomainParent + a domain's index.
  std::uint32_t first_child = kNoIndex;
  std::uint32_t next_sibling = kNoIndex;
  std::uint32_t key = 0;  // RuleSet::key(); equal keys have equal numbers.
  std::uint32_t value_offset = 0;
  std::uint32_t value_size = 0;  // 0: stands for every value of the key.
  std::uint32_t first_limit = 0;
  std::uint32_t metadata = kNoIndex;
  std::uint32_t line = 0;  // In its file, from 1; 0 when built in code.
  std::uint16_t limit_count = 0;
  std::uint16_t file = 0;
  bool is_pattern = false;       // The value holds a `*`, each standing for any run of bytes.
  bool share_threshold = false;  // The pattern stands for the value in the identity.
  bool value_to_metric = false;  // The value is shown in the label of the metric.
};

struct RuleDomain {
  std::string name = {};
  bool charge_each = false;  // Each limit for itself instead of all or nothing.
  std::uint32_t index = 0;   // In RuleSet::domains().
  std::uint32_t first_node = kNoIndex;
};

class RuleSet {
 public:
  RuleSet() = default;  // No rules: everything is allowed.

  std::span<const RuleDomain> domains() const noexcept { return domains_; }
  std::span<const RuleNode> nodes() const noexcept { return nodes_; }

  // Every distinct limit; limits()[i].index == i. Limits of one node stand together.
  std::span<const RuleLimit> limits() const noexcept { return limits_; }
  std::span<const RuleLimit> limits(const RuleNode& node) const noexcept {
    return limits().subspan(node.first_limit, node.limit_count);
  }

  std::span<const std::string> keys() const noexcept { return keys_; }
  std::string_view key(const RuleNode& node) const noexcept { return keys_[node.key]; }
  std::string_view value(const RuleNode& node) const noexcept {
    return {values_.data() + node.value_offset, node.value_size};
  }
  // A JSON object as compact text, or empty.
  std::string_view metadata(const RuleNode& node) const noexcept {
    return node.metadata == kNoIndex ? std::string_view{} : metadata_[node.metadata];
  }
  // The file that holds the node, as the builder was told; empty when built in code.
  std::string_view file(const RuleNode& node) const noexcept { return files_[node.file]; }

  std::size_t memory_bytes() const noexcept;  // About what the set occupies.

 private:
  friend class RuleSetBuilder;

  std::vector<RuleDomain> domains_;
  std::vector<RuleNode> nodes_;
  std::vector<RuleLimit> limits_;
  std::vector<std::string> keys_;
  std::vector<std::string> metadata_;
  std::vector<std::string> files_;
  std::vector<char> values_;
};

// One entry of `descriptors`, ready to enter the tree.
struct RuleDraft {
  std::string_view key = {};
  std::string_view value = {};  // Empty: any value. With a `*`: a pattern.
  // domain, id, id_hash, index and an empty label are filled in by build(); the numbers have to
  // have passed validate_limit().
  std::vector<RuleLimit> limits = {};
  bool is_list = false;  // Written as a list: ids carry the limit's name, or algorithm and period.
  bool share_threshold = false;
  bool value_to_metric = false;
  std::string_view metadata = {};  // A JSON object as text, or empty.
};

// Builds a set in the order in which a file is read: open, then the children, then define. One
// thread. Borrowed text is copied.
class RuleSetBuilder {
 public:
  enum class SameDomain : std::uint8_t { refuse, merge };

  explicit RuleSetBuilder(SameDomain same_domain = SameDomain::refuse);

  // What follows was written in this file.
  void begin_file(std::string name);

  // Both return the new parent to pass on. A domain's name and a node's draft may come after the
  // children, as they may in a file.
  std::uint32_t open_domain(std::uint32_t line = 0);
  void define_domain(std::uint32_t domain, std::string_view name, bool charge_each = false);
  std::uint32_t open_node(std::uint32_t parent, std::uint32_t line = 0);
  void define_node(std::uint32_t node, const RuleDraft& draft);

  // The convenient form where the order is known: open and define in one.
  std::uint32_t add_domain(std::string_view name, bool charge_each = false);
  std::uint32_t add_node(std::uint32_t parent, const RuleDraft& draft);

  // Checks what no single entry shows (a domain, a descriptor or an id twice, a name without
  // bytes, a path too deep), gives limits their ids and closes the set. Every problem is told; the
  // set holds only when there is none. The builder is empty afterwards.
  RuleSet build(std::vector<Problem>& problems);

 private:
  struct LimitList {
    std::vector<RuleLimit> limits;
    bool is_list = false;
  };
  struct Interned;  // Scratch of build().

  std::uint32_t intern_key(std::string_view key);
  std::uint32_t intern_list(const std::vector<RuleLimit>& limits, bool is_list);
  void join_domains(Interned& scratch);
  void resolve_limits(Interned& scratch);
  void place_limits(RuleNode& node, std::uint32_t path, Interned& scratch);
  void check_id(const RuleLimit& rule, std::uint32_t first_of_list, std::size_t depth,
                const RuleNode& node, Interned& scratch);
  void link_nodes();
  void refuse_duplicates(Interned& scratch);
  std::string composite_key(const RuleNode& node) const;
  void report(const RuleNode& node, std::string message, std::vector<Problem>& problems) const;

  SameDomain same_domain_;
  RuleSet set_;
  std::vector<std::uint32_t> domain_lines_;
  std::vector<std::uint16_t> domain_files_;
  std::vector<LimitList> lists_;
  std::unordered_map<std::string, std::uint32_t> key_numbers_;
  std::unordered_map<std::string, std::uint32_t> metadata_numbers_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> list_numbers_;
};

// `<rule>` of docs/semantics.md, Identity: the domain and the keys joined by '/', each with bytes
// outside [A-Za-z0-9._-] as %XX. append_rule_id(id, part) adds one part.
void append_rule_id(std::string& id, std::string_view part);

// Whether a value fits a pattern in which each `*` stands for any run of bytes, none included.
bool fits_pattern(std::string_view pattern, std::string_view value) noexcept;

}  // namespace sluice
