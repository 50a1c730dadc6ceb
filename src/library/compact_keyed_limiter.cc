#include "sluice/compact_keyed_limiter.h"

#include <algorithm>
#include <utility>

#include "stores/compact_table.h"

namespace sluice {
namespace {

constexpr std::size_t kBatchMax = 32;

}  // namespace

Result<std::unique_ptr<CompactKeyedLimiter>> CompactKeyedLimiter::open(
    const Limit& limit, const Clock& clock, const TableOptions& options) {
  if (Result<void> valid = validate_limit(limit); !valid) return valid.error();
  if (limit.algorithm != Algorithm::token_bucket || limit.block_for > Duration{0} ||
      limit.overdraft || limit.warm_up > Duration{0}) {
    return Error{ErrorCode::unsupported, "a compact limiter is a plain token_bucket"};
  }
  if (limit.requests == 0 || limit.burst == 0 || limit.burst > kBurstMax) {
    return Error{ErrorCode::unsupported,
                 "a compact limiter has requests and a burst between 1 and 134217728"};
  }
  Result<std::unique_ptr<CompactTable>> table = CompactTable::open(limit, options);
  if (!table) return table.error();
  return std::unique_ptr<CompactKeyedLimiter>(new CompactKeyedLimiter(std::move(*table), clock));
}

CompactKeyedLimiter::CompactKeyedLimiter(std::unique_ptr<CompactTable> table,
                                         const Clock& clock) noexcept
    : clock_(clock), table_(std::move(table)) {}

CompactKeyedLimiter::~CompactKeyedLimiter() = default;

bool CompactKeyedLimiter::try_acquire(LimiterKey key, Cost cost, Instant now) noexcept {
  return table_->take(key.hash(), cost, now).value_or(false);
}

void CompactKeyedLimiter::try_acquire(std::span<const LimiterKey> keys, Cost cost, Instant now,
                                      std::span<bool> is_allowed) noexcept {
  while (!keys.empty()) {
    const auto batch = keys.first(std::min(keys.size(), kBatchMax));
    for (const LimiterKey key : batch) table_->prefetch_first(key.hash());
    for (const LimiterKey key : batch) table_->prefetch_second(key.hash());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      is_allowed[i] = try_acquire(batch[i], cost, now);
    }
    keys = keys.subspan(batch.size());
    is_allowed = is_allowed.subspan(batch.size());
  }
}

Decision CompactKeyedLimiter::decide(LimiterKey key, Cost cost, Instant now) noexcept {
  const std::optional<bool> is_allowed = table_->take(key.hash(), cost, now);
  Decision decision = peek(key, is_allowed.value_or(false) ? 0 : cost, now);
  if (!is_allowed) {
    decision.verdict = Verdict::undecided;
  } else if (!*is_allowed) {  // Another thread may have given cost back since.
    decision.verdict = Verdict::denied;
    decision.retry_after = std::max(decision.retry_after, Duration{1});
  }
  return decision;
}

Decision CompactKeyedLimiter::peek(LimiterKey key, Cost cost, Instant now) const noexcept {
  const CompactPlan& plan = table_->plan();
  const std::uint64_t ahead = table_->ahead(key.hash(), now);
  Decision decision{.limit = plan.burst, .reset_after = plan.wait(ahead)};
  if (ahead < plan.span) {
    decision.remaining = static_cast<std::uint32_t>((plan.span - ahead) / plan.interval);
  }
  if (cost > plan.burst) {
    decision.retry_after = kNever;
  } else if (cost > 0 && ahead + cost * plan.interval > plan.span) {
    decision.retry_after = plan.wait(ahead + cost * plan.interval - plan.span);
  }
  if (decision.retry_after > Duration{0}) decision.verdict = Verdict::denied;
  return decision;
}

void CompactKeyedLimiter::refund(LimiterKey key, Cost cost, Instant now) noexcept {
  table_->refund(key.hash(), cost, now);
}

void CompactKeyedLimiter::reset(LimiterKey key) noexcept {
  table_->erase(key.hash());
}

KeyedLimiterCounters CompactKeyedLimiter::counters() const noexcept {
  return {table_->estimate_keys(clock_.now()), table_->evictions(), table_->refusals()};
}

std::size_t CompactKeyedLimiter::bytes() const noexcept {
  return table_->bytes();
}

}  // namespace sluice
