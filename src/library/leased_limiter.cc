#include "sluice/leased_limiter.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mutex.h"

namespace sluice {
namespace {

constexpr std::uint32_t kShareMax = 64;
constexpr Duration kShareTime = std::chrono::milliseconds{1};
constexpr unsigned kBurstParts = 8;  // All leases together hold at most this part of the burst.

bool membarrier(int command) noexcept {
  return syscall(SYS_membarrier, command, 0, 0) == 0;
}

// Once a process; the kernel remembers.
bool has_membarrier() noexcept {
  static const bool has = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  return has;
}

std::uint32_t share_of(const Limit& limit, unsigned threads) noexcept {
  if (!has_membarrier()) return 0;
  const Wide in_time =
      Wide{limit.requests} * static_cast<std::uint64_t>(kShareTime.count()) / limit.period.count();
  const std::uint64_t of_burst = limit.burst / (std::uint64_t{kBurstParts} * threads);
  return static_cast<std::uint32_t>(std::min({Wide{kShareMax}, Wide{of_burst}, in_time}));
}

Result<void> validate_leased(const Limit& limit) {
  if (limit.algorithm != Algorithm::token_bucket || limit.overdraft ||
      limit.block_for > Duration{0}) {
    return Error{ErrorCode::unsupported,
                 "a leased limiter is a token_bucket without overdraft and block_for"};
  }
  return validate_limit(limit);
}

}  // namespace

struct LeasedLimiter::Pool {
  Pool(const Limit& whole, unsigned threads)
      : limit(whole), threads_max(threads), leases(std::make_unique<Lease[]>(threads)) {}

  Limit carved() const noexcept SLUICE_REQUIRES(mutex) {
    Limit rest = limit;
    rest.burst -= share.load(std::memory_order_relaxed) * threads_max;
    return rest;
  }
  Lease* take_lease() noexcept SLUICE_EXCLUDES(mutex);
  void return_lease(Lease& lease) noexcept SLUICE_EXCLUDES(mutex);
  bool recall_idle(Instant now) noexcept SLUICE_EXCLUDES(mutex);
  std::optional<std::uint32_t> recall(Lease& lease) noexcept SLUICE_REQUIRES(mutex);
  bool top_up(Lease& lease, Cost cost, Instant now) noexcept;

  mutable Mutex mutex;
  Limit limit SLUICE_GUARDED_BY(mutex);
  std::uint64_t recalls SLUICE_GUARDED_BY(mutex) = 0;
  const unsigned threads_max;
  const std::unique_ptr<Lease[]> leases;
  std::unique_ptr<Limiter> bucket;  // Null when the limiter is no more; changed under mutex.
  std::atomic<std::uint32_t> share{0};
  std::atomic<std::int64_t> next_recall_ns{0};
};

// What a thread holds of all limiters; returned when it ends.
struct LeasedLimiter::ThreadLeases {
  struct Held {
    std::shared_ptr<Pool> pool;
    Lease* lease;  // Null: there was none left.
  };

  ~ThreadLeases() {
    for (const Held& one : held) give_back(one);
    last_used_ = {};
  }
  static void give_back(const Held& one) noexcept {
    if (one.lease != nullptr) one.pool->return_lease(*one.lease);
  }
  // Forgets limiters that are no more: the pools that only this thread still knows.
  void purge() noexcept {
    std::erase_if(held, [](const Held& one) { return one.pool.use_count() == 1; });
    last_used_ = {};
  }

  std::vector<Held> held;
};

Result<std::unique_ptr<LeasedLimiter>> LeasedLimiter::open(const Limit& limit, const Clock& clock,
                                                           const LeasedLimiterOptions& options) {
  if (auto valid = validate_leased(limit); !valid) return valid.error();
  const unsigned cores = std::max(std::thread::hardware_concurrency(), 1U);
  const auto pool =
      std::make_shared<Pool>(limit, options.threads_max > 0 ? options.threads_max : cores);
  pool->share = share_of(limit, pool->threads_max);
  const MutexLock lock(pool->mutex);
  auto bucket = Limiter::open(pool->carved(), clock);
  if (!bucket) return bucket.error();
  pool->bucket = std::move(*bucket);
  return std::unique_ptr<LeasedLimiter>(new LeasedLimiter(pool, clock));
}

LeasedLimiter::LeasedLimiter(std::shared_ptr<Pool> pool, const Clock& clock) noexcept
    : pool_(std::move(pool)), clock_(clock) {}

LeasedLimiter::~LeasedLimiter() {
  const MutexLock lock(pool_->mutex);
  // Leases outlive us with their threads; what knows the clock does not.
  pool_->bucket.reset();
}

LeasedLimiter::Lease* LeasedLimiter::find_lease() noexcept {
  thread_local ThreadLeases own;
  auto known = std::find_if(own.held.begin(), own.held.end(),
                            [&](const auto& one) { return one.pool == pool_; });
  if (known == own.held.end()) {
    own.purge();
    own.held.push_back({pool_, pool_->take_lease()});
    known = std::prev(own.held.end());
  }
  last_used_ = {pool_.get(), known->lease};
  return known->lease;
}

bool LeasedLimiter::try_acquire_shared(Cost cost, Instant now, Lease* lease) noexcept {
  if (lease != nullptr && pool_->top_up(*lease, cost, now)) return true;
  if (pool_->bucket->try_acquire(cost, now)) return true;
  return pool_->recall_idle(now) && pool_->bucket->try_acquire(cost, now);
}

// Fills the lease up and takes the cost with it, while the bucket is rich enough to do so for every
// thread at once.
bool LeasedLimiter::Pool::top_up(Lease& lease, Cost cost, Instant now) noexcept {
  bool is_taken = false;
  if (lease.enter()) {
    // Read inside: set_limit() clears it and then recalls each lease, so that none is ever filled
    // by old numbers after that.
    const std::uint32_t full = share.load(std::memory_order_relaxed);
    const std::uint32_t left = lease.tokens.load(std::memory_order_relaxed);
    if (left < full &&
        bucket->try_acquire_leaving(full - left + cost, std::uint64_t{full} * threads_max, now)) {
      lease.tokens.store(full, std::memory_order_relaxed);
      is_taken = true;
    }
  }
  lease.leave();
  return is_taken;
}

LeasedLimiter::Lease* LeasedLimiter::Pool::take_lease() noexcept {
  const MutexLock lock(mutex);
  const auto end = leases.get() + threads_max;
  const auto free = std::find_if(leases.get(), end, [](const Lease& one) { return !one.is_owned; });
  if (free == end) return nullptr;
  free->is_owned = true;
  return free;
}

void LeasedLimiter::Pool::return_lease(Lease& lease) noexcept {
  const MutexLock lock(mutex);
  lease.is_owned = false;
  const std::uint32_t left = lease.tokens.exchange(0, std::memory_order_relaxed);
  if (left > 0 && bucket != nullptr) bucket->refund(left);
}

// Takes a lease's tokens; nothing when its owner is just spending. Pairs with Lease::enter():
// either the owner's mark is seen here, or the owner sees the flag.
std::optional<std::uint32_t> LeasedLimiter::Pool::recall(Lease& lease) noexcept {
  lease.is_recalled.store(true, std::memory_order_seq_cst);
  membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  std::optional<std::uint32_t> taken;
  if (!lease.is_busy.load(std::memory_order_acquire)) {
    taken = lease.tokens.exchange(0, std::memory_order_relaxed);
  }
  lease.is_recalled.store(false, std::memory_order_release);
  return taken;
}

// Whether tokens came back to the bucket.
bool LeasedLimiter::Pool::recall_idle(Instant now) noexcept {
  if (share.load(std::memory_order_relaxed) == 0) return false;
  if (now.ns < next_recall_ns.load(std::memory_order_relaxed)) return false;
  const MutexLock lock(mutex);
  next_recall_ns.store((now + kIdle / 4).ns, std::memory_order_relaxed);
  std::uint32_t taken = 0;
  for (Lease* lease = leases.get(); lease != leases.get() + threads_max; ++lease) {
    const std::uint32_t tokens = lease->tokens.load(std::memory_order_relaxed);
    if (tokens == 0 || tokens != lease->tokens_seen) {
      lease->tokens_seen = tokens;
      lease->seen_at = now;
    } else if (now - lease->seen_at >= kIdle) {
      taken += recall(*lease).value_or(0);
      ++recalls;
    }
  }
  if (taken > 0) bucket->refund(taken, now);
  return taken > 0;
}

Result<void> LeasedLimiter::set_limit(const Limit& limit) {
  if (auto valid = validate_leased(limit); !valid) return valid;
  const MutexLock lock(pool_->mutex);
  if (pool_->limit == limit) return {};
  pool_->share.store(0, std::memory_order_seq_cst);
  std::uint32_t taken = 0;
  for (Lease* lease = pool_->leases.get(); lease != pool_->leases.get() + pool_->threads_max;
       ++lease) {
    // Also an empty one: its owner may be about to fill it by the old numbers.
    auto tokens = pool_->recall(*lease);
    for (; !tokens; tokens = pool_->recall(*lease)) std::this_thread::yield();
    taken += *tokens;
  }
  pool_->bucket->refund(taken);
  pool_->limit = limit;
  pool_->share = share_of(limit, pool_->threads_max);
  return pool_->bucket->set_limit(pool_->carved());
}

Limit LeasedLimiter::limit() const {
  const MutexLock lock(pool_->mutex);
  return pool_->limit;
}

std::uint32_t LeasedLimiter::share() const noexcept {
  return pool_->share.load(std::memory_order_relaxed);
}

std::uint64_t LeasedLimiter::leased() const noexcept {
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < pool_->threads_max; ++i) {
    sum += pool_->leases[i].tokens.load(std::memory_order_relaxed);
  }
  return sum;
}

std::uint64_t LeasedLimiter::recalls() const noexcept {
  const MutexLock lock(pool_->mutex);
  return pool_->recalls;
}

}  // namespace sluice
