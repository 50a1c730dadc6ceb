// A token bucket for many threads at a rate where even one shared cache line is too dear: each
// thread leases a few tokens at a time and spends them on a line of its own, with plain loads and
// stores. Exact where it matters: leases are carved out of the burst (the shared bucket runs with
// burst - threads * share), so all tokens together never exceed the limit's own, and no window of
// length t ever admits more than burst + rate * t.
//
// The price is the other side. Up to threads * share tokens may lie with threads that do not use
// them. A thread that finds the shared bucket empty looks for leases that nobody has touched for
// kIdle and takes them back; a thread that ends returns its own. The share is
// min(64, burst / (8 * threads), rate * 1 ms), so at most an eighth of the burst; where that is
// below one token, and while the shared bucket is low, every call goes to the bucket.
//
// Taking a lease back from a thread that spends without atomic operations: the owner marks itself
// busy, looks whether its lease is being recalled, spends, and clears the mark. Whoever recalls
// sets the flag, makes all running threads of the process pass a barrier (membarrier(2)), and takes
// the lease only if the owner is not busy. Where the system has no membarrier nothing is leased.
#pragma once

#include <atomic>
#include <memory>

#include "sluice/limiter.h"

namespace sluice {

struct LeasedLimiterOptions {
  unsigned threads_max = 0;  // That may lease at once, the rest go to the bucket. 0: one a core.
};

// Any thread may call anything at any time, but for the destructor. A call that spends leased
// tokens reads no clock; any other reads it once.
class LeasedLimiter {
 public:
  static constexpr Duration kIdle = std::chrono::milliseconds{1};

  // token_bucket without overdraft and block_for (others: unsupported). invalid_argument: as
  // validate_limit(). The clock outlives the limiter.
  static Result<std::unique_ptr<LeasedLimiter>> open(const Limit& limit, const Clock& clock,
                                                     const LeasedLimiterOptions& options = {});
  ~LeasedLimiter();
  LeasedLimiter(const LeasedLimiter&) = delete;
  LeasedLimiter& operator=(const LeasedLimiter&) = delete;

  // A cost above burst - threads * share never fits.
  bool try_acquire(Cost cost = 1) noexcept {
    Lease* const lease = own_lease();
    if (lease != nullptr && lease->spend(cost)) [[likely]]
      return true;
    return try_acquire_shared(cost, clock_.now(), lease);
  }
  bool try_acquire(Cost cost, Instant now) noexcept {
    Lease* const lease = own_lease();
    if (lease != nullptr && lease->spend(cost)) [[likely]]
      return true;
    return try_acquire_shared(cost, now, lease);
  }

  // As Limiter::set_limit(). All leases are recalled.
  Result<void> set_limit(const Limit& limit);
  Limit limit() const;

  std::uint32_t share() const noexcept;    // Tokens of a full lease; 0: nothing is leased.
  std::uint64_t leased() const noexcept;   // Tokens that lie in leases now.
  std::uint64_t recalls() const noexcept;  // Idle leases taken back so far.

 private:
  struct Pool;

  // A thread's tokens: one cache line.
  struct alignas(64) Lease {
    // Tokens are touched only between enter() and leave() by the owner, or while recalled.
    bool enter() noexcept {
      is_busy.store(true, std::memory_order_relaxed);
      // No barrier but the compiler's: the recaller's membarrier stands for ours.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      return !is_recalled.load(std::memory_order_acquire);
    }
    void leave() noexcept { is_busy.store(false, std::memory_order_release); }

    bool spend(Cost cost) noexcept {
      bool is_spent = false;
      if (enter()) [[likely]] {
        const std::uint32_t left = tokens.load(std::memory_order_relaxed);
        is_spent = cost <= left;
        if (is_spent) {
          tokens.store(left - static_cast<std::uint32_t>(cost), std::memory_order_relaxed);
        }
      }
      leave();
      return is_spent;
    }

    std::atomic<bool> is_busy{false};
    std::atomic<bool> is_recalled{false};
    std::atomic<std::uint32_t> tokens{0};
    // The recaller's notes, under the pool's mutex.
    bool is_owned = false;
    std::uint32_t tokens_seen = 0;
    Instant seen_at;
  };

  // The lease that this thread used last.
  struct LastUsed {
    const Pool* pool;
    Lease* lease;
  };
  struct ThreadLeases;

  LeasedLimiter(std::shared_ptr<Pool> pool, const Clock& clock) noexcept;

  Lease* own_lease() noexcept {
    if (last_used_.pool == pool_.get()) [[likely]]
      return last_used_.lease;
    return find_lease();
  }
  Lease* find_lease() noexcept;
  bool try_acquire_shared(Cost cost, Instant now, Lease* lease) noexcept;

  static constinit inline thread_local LastUsed last_used_{};

  std::shared_ptr<Pool> pool_;  // Shared with the threads that hold a lease, until they end.
  const Clock& clock_;
};

}  // namespace sluice
