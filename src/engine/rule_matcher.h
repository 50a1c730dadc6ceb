// Finds the limits of a descriptor: envoyproxy/ratelimit's matching over a RuleSet, compiled once
// per snapshot into one hash table of (parent, key, value). At each level, in this order: the
// exact value, the patterns in the order of the file, the key alone; no step back. A node applies
// only when the descriptor ends there.
//
// An exact value costs three random reads (slot, node, bytes of the value) whatever the number of
// rules. Patterns are found by their literal beginning and end: one probe for each distinct pair of
// lengths, not one for each pattern. Immutable: any thread, no allocation, no lock.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sluice/vocabulary/request.h"
#include "sluice/vocabulary/rule_set.h"

namespace sluice {

struct RuleMatch {
  const RuleNode* node = nullptr;     // Null: no rule for this descriptor.
  std::span<const RuleLimit> limits;  // All of them apply. Empty: nothing limits the descriptor.
  std::string_view metadata;          // A JSON object as text, or empty.
  std::uint32_t metric_values = 0;    // Bit i: entry i asks to be shown (value_to_metric).
};

class RuleMatcher {
 public:
  explicit RuleMatcher(std::shared_ptr<const RuleSet> rules);

  const RuleSet& rules() const noexcept { return *rules_; }

  // Null: no file has this domain.
  const RuleDomain* find_domain(std::string_view name) const noexcept;

  // `identity` takes, for each entry, what stands for its value in the key: the value, or the
  // pattern under share_threshold. It has room for entries.size() views; they borrow from the
  // entries and from rules(). What it holds when nothing matched is unspecified.
  RuleMatch match(const RuleDomain& domain, std::span<const Entry> entries,
                  std::span<std::string_view> identity) const noexcept;

  std::size_t memory_bytes() const noexcept;  // About what the tables occupy, without rules().

 private:
  // Hash -> number of an item; the caller says whether an item is the one it looks for. Open
  // addressing, linear, at most two thirds full, 32 bits of the hash beside the number.
  class Index {
   public:
    void reserve(std::size_t items);  // Once, before the first insert.
    void insert(std::uint64_t hash, std::uint32_t item) noexcept;
    template <typename Fits>
    std::uint32_t find(std::uint64_t hash, Fits fits) const noexcept;
    bool is_empty() const noexcept { return slots_.empty(); }
    std::size_t memory_bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }

   private:
    struct Slot {
      std::uint32_t tag = 0;
      std::uint32_t item = kNoIndex;
    };
    std::vector<Slot> slots_;
  };
  // Patterns under one parent and key that begin and end with the same bytes: they differ in the
  // middle alone. Range of pattern_nodes_, in the order of the file.
  struct PatternGroup {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  struct PatternShape {
    std::uint32_t prefix_size = 0;
    std::uint32_t suffix_size = 0;
    std::uint32_t first_node = 0;  // The earliest pattern of this shape: nodes follow the file.
  };
  // The shapes among the patterns of one parent and key, earliest first. Range of shapes_.
  struct PatternSet {
    std::uint32_t parent = 0;
    std::uint32_t key = 0;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };

  void add_values();
  void add_patterns();
  void add_pattern_set(std::span<std::uint32_t> nodes);
  void add_pattern_groups(std::span<std::uint32_t> nodes);
  std::uint32_t find_value(std::uint32_t parent, std::uint32_t key,
                           std::string_view value) const noexcept;
  std::uint32_t find_pattern(std::uint32_t parent, std::uint32_t key,
                             std::string_view value) const noexcept;

  std::shared_ptr<const RuleSet> rules_;
  std::unordered_map<std::string_view, std::uint32_t> domains_;
  std::unordered_map<std::string_view, std::uint32_t> keys_;
  Index value_index_;  // Items are nodes without a pattern.
  Index set_index_;    // Items are sets_.
  Index group_index_;  // Items are groups_.
  std::vector<std::uint32_t> pattern_nodes_;
  std::vector<PatternGroup> groups_;
  std::vector<PatternShape> shapes_;
  std::vector<PatternSet> sets_;
};

// The label of a limit's metric for one request: the limit's label, or, when the rule asks for
// values (detailed_metric: all; value_to_metric: those), the path with them: `route=draw/method`.
void append_metric_label(std::string& label, const RuleMatch& match, const RuleLimit& limit,
                         std::span<const Entry> entries,
                         std::span<const std::string_view> identity);

}  // namespace sluice
