// Token buckets in one 64-bit word each: 24 bits of the key's hash above the moment when the bucket
// is full, in 40 bits of ticks. Eight words are a cache line; a key lives in one of two lines,
// which half full have room for all. No lock word: a decision swaps the one word it read.
//
// Adding a key could put it into two places at once, so that is done under one of a few locks,
// chosen by what all places of a key have in common. A word may be overwritten by another key's
// when it is at rest; whoever still wanted it fails its swap and looks again.
//
// Ticks are a ring: a moment ahead of now by more than the span of all tokens and the allowed lag
// lies in the past. A word that nobody touches for a whole turn is thus misread for a moment.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/zero_pages.h"
#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/key.h"
#include "sluice/vocabulary/limit.h"
#include "sluice/vocabulary/table_options.h"

namespace sluice {

// A limit in ticks.
struct CompactPlan {
  int shift = 0;                // A tick is 2^-shift ns.
  std::uint64_t interval = 0;   // Of one token: [1024, 2048] ticks.
  std::uint64_t span = 0;       // Of all tokens.
  std::uint64_t ahead_max = 0;  // Span and allowed lag; what is further ahead is past.
  std::uint32_t burst = 0;

  // Requires requests > 0 and a burst of at most 2^27.
  explicit CompactPlan(const Limit& limit) noexcept;

  std::uint64_t ticks(Instant now) const noexcept {
    const auto ns = static_cast<std::uint64_t>(now.ns);
    return shift >= 0 ? ns << shift : ns >> -shift;
  }
  Duration wait(std::uint64_t ticks) const noexcept;  // Rounded up.
};

class CompactTable {
 public:
  static Result<std::unique_ptr<CompactTable>> open(const Limit& limit,
                                                    const TableOptions& options);

  // Charges the cost if it fits. Nullopt: there was no room for a new key.
  std::optional<bool> take(KeyHash hash, Cost cost, Instant now) noexcept;
  // The bucket's fill: how far ahead of now it is full, in ticks; 0: full.
  std::uint64_t ahead(KeyHash hash, Instant now) const noexcept;
  void refund(KeyHash hash, Cost cost, Instant now) noexcept;
  void erase(KeyHash hash) noexcept;

  // Before many take(): fetches the first line of a key; then, once that is there, perhaps the
  // second.
  void prefetch_first(KeyHash hash) const noexcept {
    __builtin_prefetch(&lines_[first_line(hash)], 1);
  }
  void prefetch_second(KeyHash hash) const noexcept;

  const CompactPlan& plan() const noexcept { return plan_; }
  std::uint64_t estimate_keys(Instant now) const noexcept;
  std::uint64_t evictions() const noexcept { return evictions_.load(std::memory_order_relaxed); }
  std::uint64_t refusals() const noexcept { return refusals_.load(std::memory_order_relaxed); }
  std::size_t bytes() const noexcept { return std::size_t{line_count_} * sizeof(Line); }

 private:
  static constexpr int kWays = 8;
  struct alignas(64) Line {
    std::array<std::uint64_t, kWays> words;
  };
  struct alignas(64) AddLock {
    std::atomic<bool> is_held{false};
  };
  static constexpr std::size_t kAddLocks = 64;
  static constexpr unsigned kTickBits = 40;
  static constexpr std::uint64_t kTickMask = (std::uint64_t{1} << kTickBits) - 1;

  CompactTable(ZeroPages pages, std::uint32_t line_count, const Limit& limit,
               WhenFull when_full) noexcept;

  std::uint32_t scale(std::uint32_t hash) const noexcept {
    return static_cast<std::uint32_t>(std::uint64_t{hash} * line_count_ >> 32);
  }
  std::uint32_t first_line(KeyHash hash) const noexcept {
    return scale(static_cast<std::uint32_t>(hash.high >> 32));
  }
  static std::uint32_t tag_of(KeyHash hash) noexcept {
    const auto tag = static_cast<std::uint32_t>(hash.low >> kTickBits);
    return tag == 0 ? 1 : tag;
  }
  std::uint32_t other_line(std::uint32_t line, std::uint32_t tag) const noexcept {
    const std::uint32_t sum = scale(tag * 0x9E37'79B1U);
    return sum >= line ? sum - line : sum + (line_count_ - line);
  }
  static std::uint64_t make_word(std::uint32_t tag, std::uint64_t full_at) noexcept {
    return std::uint64_t{tag} << kTickBits | (full_at & kTickMask);
  }
  std::uint64_t ahead_of(std::uint64_t word, std::uint64_t now) const noexcept {
    const std::uint64_t ahead = (word - now) & kTickMask;
    return ahead > plan_.ahead_max ? 0 : ahead;
  }
  // Of any word: one never used stands for no moment.
  std::uint64_t debt_of(std::uint64_t word, std::uint64_t now) const noexcept {
    return word == 0 ? 0 : ahead_of(word, now);
  }

  static int find(const Line& line, std::uint32_t tag) noexcept;
  std::uint64_t* find(KeyHash hash) const noexcept;
  std::optional<bool> add(KeyHash hash, std::uint64_t cost_ticks, std::uint64_t now) noexcept;
  std::uint64_t* choose_place(KeyHash hash, std::uint64_t now) noexcept;

  ZeroPages pages_;
  Line* lines_;
  std::uint32_t line_count_;
  CompactPlan plan_;
  WhenFull when_full_;
  std::array<AddLock, kAddLocks> add_locks_;
  std::atomic<std::uint64_t> evictions_{0};
  std::atomic<std::uint64_t> refusals_{0};
};

}  // namespace sluice
