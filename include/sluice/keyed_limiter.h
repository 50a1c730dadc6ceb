// One limit for each of many keys, shared by the threads of a program: bounded memory, 32 bytes a
// key, no thread and no timer of its own. A key that is at rest takes no room; when keys that are
// not fill the table, WhenFull says what happens. A refusal of the common algorithms reads one
// cache line and writes nothing.
//
//   auto limiter = KeyedLimiter::open({.algorithm = Algorithm::token_bucket, .requests = 10,
//                                      .burst = 20}, clock).value();
//   if (!limiter->try_acquire(user_id)) return too_many_requests();
//
// Any thread may call anything at any time. Without `now` a call reads the clock, once; with it,
// not at all. A `now` that lags is harmless: it counts as no later than it is.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/algorithm/limit_generations.h"
#include "sluice/algorithm/limit_plan.h"
#include "sluice/vocabulary/clock.h"
#include "sluice/vocabulary/decision.h"
#include "sluice/vocabulary/error.h"
#include "sluice/vocabulary/key.h"
#include "sluice/vocabulary/table_options.h"

namespace sluice {

class MemoryStore;

// A key, as bytes of any length or as a number (those two never meet). What is kept of it is 128
// bits under a secret seed of this process, so it may be made once and used often.
class LimiterKey {
 public:
  LimiterKey(std::string_view bytes) noexcept;                                   // NOLINT
  LimiterKey(const char* text) noexcept : LimiterKey(std::string_view{text}) {}  // NOLINT
  LimiterKey(const std::string& bytes) noexcept                                  // NOLINT
      : LimiterKey(std::string_view{bytes}) {}
  template <std::integral Number>
  LimiterKey(Number number) noexcept  // NOLINT(google-explicit-constructor)
      : hash_(hash_number(static_cast<std::uint64_t>(number))) {}

  KeyHash hash() const noexcept { return hash_; }

 private:
  static KeyHash hash_number(std::uint64_t number) noexcept;
  KeyHash hash_;
};

struct KeyedLimiterCounters {
  std::uint64_t keys = 0;       // Not at rest; an estimate above some thousands.
  std::uint64_t evictions = 0;  // Of keys not at rest.
  std::uint64_t refusals = 0;   // Undecided because there was no room.
};

class KeyedLimiter {
 public:
  // Every algorithm but concurrency (unsupported). invalid_argument: as validate_limit(), or
  // keys_max out of range. overloaded: no such memory. The clock outlives the limiter.
  static Result<std::unique_ptr<KeyedLimiter>> open(const Limit& limit, const Clock& clock,
                                                    const TableOptions& options = {});
  ~KeyedLimiter();
  KeyedLimiter(const KeyedLimiter&) = delete;
  KeyedLimiter& operator=(const KeyedLimiter&) = delete;

  // Charges the cost if it fits. Cost 0 is always allowed. False also when there was no room.
  bool try_acquire(LimiterKey key, Cost cost = 1) noexcept {
    return try_acquire(key, cost, clock_.now());
  }
  bool try_acquire(LimiterKey key, Cost cost, Instant now) noexcept {
    return try_acquire(key, cost, now, plan());
  }

  // Many keys in order, each with the same cost; 8 to 32 at once hide most of the waiting for
  // memory. Requires is_allowed.size() >= keys.size().
  void try_acquire(std::span<const LimiterKey> keys, Cost cost, Instant now,
                   std::span<bool> is_allowed) noexcept;

  // The same as the single form with everything that an answer says; undecided: no room.
  Decision decide(LimiterKey key, Cost cost = 1) noexcept {
    return decide(key, cost, clock_.now());
  }
  Decision decide(LimiterKey key, Cost cost, Instant now) noexcept {
    return decide(key, cost, now, plan());
  }

  // What decide() would say; charges nothing.
  Decision peek(LimiterKey key, Cost cost = 1) noexcept { return peek(key, cost, clock_.now()); }
  Decision peek(LimiterKey key, Cost cost, Instant now) noexcept {
    return peek(key, cost, now, plan());
  }

  // Gives cost back, as the algorithm allows (a bucket to at most full).
  void refund(LimiterKey key, Cost cost = 1) noexcept { refund(key, cost, clock_.now()); }
  void refund(LimiterKey key, Cost cost, Instant now) noexcept { refund(key, cost, now, plan()); }

  // Makes the key one never seen. Whether it was not at rest.
  bool reset(LimiterKey key) noexcept;

  // From now on, for every key that has no plan of its own. Each key's tokens or debt are kept,
  // clamped to a new burst, and converted when it is next used; a changed algorithm or period
  // starts at rest. Errors: as open(); overloaded after very many different limits.
  Result<void> set_limit(const Limit& limit);
  Limit limit() const noexcept { return plan().limit; }

  // Other numbers for some keys: a plan is made once and passed with each call. It lives as long as
  // the limiter. A key may come with another plan at any time: it is then converted as by
  // set_limit(), and no other key notices.
  Result<const LimitPlan*> make_plan(const Limit& limit);
  bool try_acquire(LimiterKey key, Cost cost, Instant now, const LimitPlan& plan) noexcept;
  Decision decide(LimiterKey key, Cost cost, Instant now, const LimitPlan& plan) noexcept;
  Decision peek(LimiterKey key, Cost cost, Instant now, const LimitPlan& plan) noexcept;
  void refund(LimiterKey key, Cost cost, Instant now, const LimitPlan& plan) noexcept;
  bool reset(LimiterKey key, Instant now, const LimitPlan& plan) noexcept;

  KeyedLimiterCounters counters() const noexcept;

 private:
  KeyedLimiter(std::unique_ptr<MemoryStore> store, const Clock& clock) noexcept;
  const LimitPlan& plan() const noexcept { return *plan_.load(std::memory_order_acquire); }

  const Clock& clock_;
  std::unique_ptr<MemoryStore> store_;
  std::atomic<const LimitPlan*> plan_{nullptr};
  LimitGenerations generations_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<const LimitPlan>> plans_;  // Guarded by mutex_; all that ever were.
};

}  // namespace sluice
