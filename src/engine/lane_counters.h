// The counters of one lane. Its thread alone writes them, with plain loads and stores that happen
// to be atomic, so a count costs no locked instruction; metrics() reads them from any thread and
// adds the lanes up. Cells live in chunks that are never moved or freed while the lane lives.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/engine_metrics.h"

namespace sluice {

// Grows by its one writer; any thread reads. Relaxed: counts order nothing else.
class Counter {
 public:
  void add(std::uint64_t count) noexcept {
    count_.store(count_.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }
  std::uint64_t value() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_{0};
};

// What one series of decisions counts: one cache line.
struct alignas(64) SeriesCounters {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::array<Counter, kDecisionKinds> decisions;
  Counter hits;
  // Least remaining since the last take_least(). A reader that resets it while the lane lowers it
  // may see one value twice or lose one: a gauge, not a count.
  std::atomic<std::uint32_t> least_remaining{kNone};

  void count(DecisionKind kind, std::uint64_t hits_asked) noexcept {
    decisions[static_cast<std::size_t>(kind)].add(1);
    hits.add(hits_asked);
  }
  void lower(std::uint32_t remaining) noexcept {
    if (remaining < least_remaining.load(std::memory_order_relaxed)) {
      least_remaining.store(remaining, std::memory_order_relaxed);
    }
  }
  std::uint32_t take_least() noexcept {
    return least_remaining.exchange(kNone, std::memory_order_relaxed);
  }
};

struct alignas(64) DomainCounters {
  std::array<Counter, kVerdictNames.size()> requests;
  Counter unmatched;
};

// Cells by number, in chunks that come into being when the lane first needs them.
template <typename Cell, std::size_t kCellsMax>
class CellChunks {
 public:
  CellChunks() = default;
  CellChunks(const CellChunks&) = delete;
  CellChunks& operator=(const CellChunks&) = delete;
  ~CellChunks() {
    for (const auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
  }

  // The lane's thread. Requires index < kCellsMax.
  Cell& at(std::size_t index) {
    std::atomic<Chunk*>& place = chunks_[index / kChunkCells];
    Chunk* chunk = place.load(std::memory_order_relaxed);
    if (chunk == nullptr) {
      chunk = new Chunk;
      place.store(chunk, std::memory_order_release);  // The reader sees a chunk of zeros.
    }
    return (*chunk)[index % kChunkCells];
  }

  // Any thread; null: nothing counted there yet.
  Cell* find(std::size_t index) const noexcept {
    Chunk* chunk = chunks_[index / kChunkCells].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[index % kChunkCells];
  }

 private:
  static constexpr std::size_t kChunkCells = 64;
  using Chunk = std::array<Cell, kChunkCells>;

  std::array<std::atomic<Chunk*>, (kCellsMax + kChunkCells - 1) / kChunkCells> chunks_{};
};

class LatencyCounters {
 public:
  void add(Duration latency) noexcept {
    const auto ns = static_cast<std::uint64_t>(latency.count() < 0 ? 0 : latency.count());
    counts[bucket_of(ns)].add(1);
    sum_ns.add(ns);
  }

  // The first bucket whose upper bound is not below `ns`.
  static std::size_t bucket_of(std::uint64_t ns) noexcept {
    if (ns <= 128) return 0;
    const auto bucket = static_cast<std::size_t>(std::bit_width(ns - 1)) - 7;
    return bucket < LatencyMetrics::kBuckets ? bucket : LatencyMetrics::kBuckets - 1;
  }

  std::array<Counter, LatencyMetrics::kBuckets> counts;
  Counter sum_ns;
};

inline constexpr std::size_t kSeriesMax = 131'072;
inline constexpr std::size_t kDomainSeriesMax = 65'536;

struct LaneCounters {
  CellChunks<SeriesCounters, kSeriesMax> series;
  CellChunks<DomainCounters, kDomainSeriesMax> domains;
  Counter unmatched_unknown_domain;
  LatencyCounters latency;
};

}  // namespace sluice
