// A token bucket for each of very many keys in 16 bytes a key: half of KeyedLimiter's memory and
// time, where its guarantees are more than is needed. What is given up:
//   - time is kept in ticks of at most 1/1024 of a token's time, so the rate errs by up to 0.1 %;
//   - 24 bits tell keys apart within their two cache lines: of ten million keys some ten share a
//     bucket with another;
//   - the limit never changes;
//   - a key left alone for about 10^9 tokens' time may once be seen as one just used.
// Never more than the burst at once, nor more than the rate, rounding aside. Any thread may call
// anything at any time; a decision is one compare-and-swap, a refusal only loads.
#pragma once

#include <memory>
#include <span>

#include "sluice/keyed_limiter.h"
#include "sluice/vocabulary/clock.h"
#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/limit.h"
#include "sluice/vocabulary/table_options.h"

namespace sluice {

class CompactTable;

class CompactKeyedLimiter {
 public:
  static constexpr std::uint32_t kBurstMax = 1U << 27;

  // token_bucket without block_for, overdraft and warm_up (unsupported), of at least one request
  // and a burst in [1, kBurstMax]. invalid_argument: as validate_limit(), or keys_max out of range.
  // overloaded: no such memory. The clock outlives the limiter. No slab is used.
  static Result<std::unique_ptr<CompactKeyedLimiter>> open(const Limit& limit, const Clock& clock,
                                                           const TableOptions& options = {});
  ~CompactKeyedLimiter();
  CompactKeyedLimiter(const CompactKeyedLimiter&) = delete;
  CompactKeyedLimiter& operator=(const CompactKeyedLimiter&) = delete;

  // As of KeyedLimiter. A `now` may lag by a second, or 2^30 ticks if that is less.
  bool try_acquire(LimiterKey key, Cost cost = 1) noexcept {
    return try_acquire(key, cost, clock_.now());
  }
  bool try_acquire(LimiterKey key, Cost cost, Instant now) noexcept;
  void try_acquire(std::span<const LimiterKey> keys, Cost cost, Instant now,
                   std::span<bool> is_allowed) noexcept;
  Decision decide(LimiterKey key, Cost cost, Instant now) noexcept;
  Decision peek(LimiterKey key, Cost cost, Instant now) const noexcept;
  void refund(LimiterKey key, Cost cost, Instant now) noexcept;
  void reset(LimiterKey key) noexcept;

  KeyedLimiterCounters counters() const noexcept;
  std::size_t bytes() const noexcept;

 private:
  CompactKeyedLimiter(std::unique_ptr<CompactTable> table, const Clock& clock) noexcept;

  const Clock& clock_;
  std::unique_ptr<CompactTable> table_;
};

}  // namespace sluice
