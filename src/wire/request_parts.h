// What a decoder gathers a Request from: flat lists that keep their memory from one request to the
// next, tied together at the end, when nothing moves any more.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/vocabulary/request.h"

namespace sluice {

// Why a body is no request: what, and where in it, as descriptors[0].entries[2].value.
struct BodyProblem {
  std::string field;
  std::string detail;
};

// How much of a body is looked at before it is refused; the engine has bounds of its own.
inline constexpr std::size_t kDescriptorsMax = 1024;
inline constexpr std::size_t kEntriesMax = 4096;  // Of all descriptors together.

class RequestParts {
 public:
  void clear() noexcept {
    entries_.clear();
    descriptors_.clear();
    entry_counts_.clear();
  }

  std::size_t descriptors() const noexcept { return descriptors_.size(); }
  std::size_t entries() const noexcept { return entries_.size(); }

  // Entries are added to the descriptor begun last.
  void begin_descriptor() {
    descriptors_.emplace_back();
    entry_counts_.push_back(0);
  }
  Descriptor& descriptor() noexcept { return descriptors_.back(); }
  std::size_t descriptor_entries() const noexcept { return entry_counts_.back(); }
  void add_entry(std::string_view key, std::string_view value) {
    entries_.push_back({key, value});
    ++entry_counts_.back();
  }
  Entry& entry() noexcept { return entries_.back(); }
  // Whether the descriptor has an entry of this key already.
  bool has_entry(std::string_view key) const noexcept {
    for (std::size_t i = entries_.size() - entry_counts_.back(); i < entries_.size(); ++i) {
      if (entries_[i].key == key) return true;
    }
    return false;
  }

  // The descriptors, complete; valid until the next clear().
  std::span<const Descriptor> tie() noexcept {
    const Entry* next = entries_.data();
    for (std::size_t i = 0; i < descriptors_.size(); ++i) {
      descriptors_[i].entries = {next, entry_counts_[i]};
      next += entry_counts_[i];
    }
    return descriptors_;
  }

 private:
  std::vector<Entry> entries_;
  std::vector<Descriptor> descriptors_;
  std::vector<std::size_t> entry_counts_;
};

}  // namespace sluice
