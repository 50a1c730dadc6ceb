// How many may be at work at once. A Permit is the right to be one of them: it is given back when
// it goes out of scope, exactly once, however its holder leaves.
//
//   ConcurrencyLimiter database(20, clock);
//   if (const Permit permit = database.try_acquire()) query();
//
// A lease for holders that may never come back (a callback that is lost) is `permit_ttl`: a permit
// neither released nor renewed by then is taken back, and its release, should it come, is ignored.
#pragma once

#include <memory>
#include <stop_token>
#include <utility>

#include "sluice/vocabulary/clock.h"
#include "sluice/vocabulary/limit.h"
#include "sluice/waiting.h"

namespace sluice {

class ConcurrencyLimiter;

// Move-only; one thread at a time, any thread. Must not outlive its limiter.
class [[nodiscard]] Permit {
 public:
  Permit() noexcept = default;  // None.
  Permit(Permit&& other) noexcept { swap(other); }
  Permit& operator=(Permit&& other) noexcept {
    Permit(std::move(other)).swap(*this);
    return *this;
  }
  ~Permit() {
    if (limiter_ != nullptr) release();
  }

  // Whether there is one: not refused, not released, not moved from. It may have expired meanwhile.
  explicit operator bool() const noexcept { return limiter_ != nullptr; }

  // Gives it back. False when there was none, or it had expired: nothing happens, and the latter is
  // counted (late_releases).
  bool release() noexcept;

  // Puts its expiry permit_ttl from now. False when it has expired already.
  bool renew() noexcept;

 private:
  friend class ConcurrencyLimiter;
  Permit(ConcurrencyLimiter& limiter, Cost cost, Instant expires_at, std::uint64_t id) noexcept
      : limiter_(&limiter), cost_(cost), expires_at_(expires_at), id_(id) {}
  void swap(Permit& other) noexcept {
    std::swap(limiter_, other.limiter_);
    std::swap(cost_, other.cost_);
    std::swap(expires_at_, other.expires_at_);
    std::swap(id_, other.id_);
  }

  ConcurrencyLimiter* limiter_ = nullptr;
  Cost cost_ = 0;
  Instant expires_at_ = kInstantMax;
  std::uint64_t id_ = 0;
};

struct PermitResult {
  AcquireOutcome outcome = AcquireOutcome::granted;
  Permit permit;  // Empty unless granted.
};

struct ConcurrencyOptions {
  Duration permit_ttl = kNever;  // kNever: held until released.
  std::size_t waiters_max = kWaitersMaxDefault;
};

struct ConcurrencyStats {
  std::uint32_t limit = 0;
  Cost in_use = 0;
  std::uint64_t expired = 0;        // Permits taken back.
  std::uint64_t late_releases = 0;  // Releases that came after that.
  WaitStats waits;
};

// Any thread may call anything at any time, but for the destructor, which wakes those who wait with
// `closed`, returns when they have left, and requires that no permit is held any more.
class ConcurrencyLimiter {
 public:
  // limit 0 refuses all. The clock outlives the limiter.
  ConcurrencyLimiter(std::uint32_t limit, const Clock& clock, ConcurrencyOptions options = {});
  ~ConcurrencyLimiter();
  ConcurrencyLimiter(const ConcurrencyLimiter&) = delete;
  ConcurrencyLimiter& operator=(const ConcurrencyLimiter&) = delete;

  // `cost` places under one permit, at once or not at all: empty when there is no room, or when
  // others wait for it.
  Permit try_acquire(Cost cost = 1) noexcept;

  // Blocks until there is room: first come, first served. A cost above the limit is `never`.
  PermitResult acquire(Cost cost = 1, Instant deadline = kInstantMax,
                       const std::stop_token& stop = {});

  // From now on. Lowering takes nothing back: what is over the limit runs out by being released.
  void set_limit(std::uint32_t limit) noexcept;

  // Wakes all who wait with `closed`, and refuses to let anybody wait again. Permits go on.
  void close() noexcept;

  ConcurrencyStats stats() const noexcept;

 private:
  friend class Permit;
  class Line;

  std::unique_ptr<Line> line_;
};

}  // namespace sluice
