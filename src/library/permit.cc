// Everything under the line's one mutex: a permit guards work that takes far longer than it does.
#include "sluice/permit.h"

#include <map>

#include "library/wait_line.h"

namespace sluice {

class ConcurrencyLimiter::Line final : public WaitLine {
 public:
  // What a permit is known by. Of those without expiry only the cost is kept.
  struct Grant {
    Instant expires_at = kInstantMax;
    std::uint64_t id = 0;
    friend auto operator<=>(const Grant&, const Grant&) = default;
  };

  Line(std::uint32_t limit, const Clock& clock, const ConcurrencyOptions& options) noexcept
      : WaitLine(clock, options.waiters_max), permit_ttl_(options.permit_ttl), limit_(limit) {}
  ~Line() { drain(); }

  std::optional<Grant> try_acquire(Cost cost) {
    const MutexLock lock(mutex_);
    const Instant now = clock_.now();
    settle(now);
    if (!line_.empty() || !has_room(cost, now)) return std::nullopt;
    return hold(cost, now);
  }

  AcquireOutcome acquire(Cost cost, Instant deadline, const std::stop_token& stop, Grant& grant) {
    PermitWaiter self;
    self.cost = cost;
    self.deadline = deadline;
    {
      const MutexLock lock(mutex_);
      if (stop.stop_requested()) return AcquireOutcome::cancelled;
      const Instant now = clock_.now();
      settle(now);
      const auto refused = refusal();
      if (refused == AcquireOutcome::closed) return *refused;
      if (cost > limit_) return AcquireOutcome::never;
      if (line_.empty() && has_room(cost, now)) {
        grant = hold(cost, now);
        return AcquireOutcome::granted;
      }
      if (deadline <= now) return AcquireOutcome::deadline;
      if (refused) return *refused;
      join(self, first_expiry());
    }
    const AcquireOutcome outcome = wait_out(self, stop);
    grant = self.grant;
    return outcome;
  }

  bool release(const Grant& grant, Cost cost) noexcept {
    const MutexLock lock(mutex_);
    if (permit_ttl_ != kNever && held_.erase(grant) == 0) {
      ++late_releases_;
      return false;
    }
    in_use_ -= cost;
    if (!line_.empty()) settle(clock_.now());
    return true;
  }

  bool renew(Grant& grant) noexcept {
    if (permit_ttl_ == kNever) return true;
    const MutexLock lock(mutex_);
    const Instant now = clock_.now();
    take_back_expired(now);
    auto held = held_.extract(grant);
    if (held.empty()) return false;
    grant.expires_at = now + permit_ttl_;
    held.key() = grant;
    held_.insert(std::move(held));
    return true;
  }

  void set_limit(std::uint32_t limit) noexcept {
    const MutexLock lock(mutex_);
    limit_ = limit;
    settle(clock_.now());
  }

  ConcurrencyStats stats() const noexcept {
    ConcurrencyStats stats{.waits = WaitLine::stats()};
    const MutexLock lock(mutex_);
    stats.limit = limit_;
    stats.in_use = in_use_;
    stats.expired = expired_;
    stats.late_releases = late_releases_;
    return stats;
  }

 private:
  struct PermitWaiter : Waiter {
    Grant grant;
  };

  Turn take_turn(Waiter& first, Instant now) noexcept override SLUICE_REQUIRES(mutex_) {
    if (first.cost > limit_) return {Turn::Kind::never};
    if (!has_room(first.cost, now)) return {Turn::Kind::later, first_expiry()};
    static_cast<PermitWaiter&>(first).grant = hold(first.cost, now);
    return {Turn::Kind::now};
  }
  void leave(Position /*waiter*/, Instant /*now*/) noexcept override {}  // It holds nothing.

  bool has_room(Cost cost, Instant now) noexcept SLUICE_REQUIRES(mutex_) {
    take_back_expired(now);
    return in_use_ < limit_ ? cost <= limit_ - in_use_ : cost == 0;
  }

  Grant hold(Cost cost, Instant now) noexcept SLUICE_REQUIRES(mutex_) {
    in_use_ += cost;
    if (permit_ttl_ == kNever) return {};
    const Grant grant{now + permit_ttl_, ++last_id_};
    held_.emplace(grant, cost);
    return grant;
  }

  void take_back_expired(Instant now) noexcept SLUICE_REQUIRES(mutex_) {
    while (!held_.empty() && held_.begin()->first.expires_at <= now) {
      in_use_ -= held_.begin()->second;
      held_.erase(held_.begin());
      ++expired_;
    }
  }

  Instant first_expiry() const noexcept SLUICE_REQUIRES(mutex_) {
    return held_.empty() ? kInstantMax : held_.begin()->first.expires_at;
  }

  const Duration permit_ttl_;
  std::uint32_t limit_ SLUICE_GUARDED_BY(mutex_);
  Cost in_use_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::map<Grant, Cost> held_
      SLUICE_GUARDED_BY(mutex_);  // Under permit_ttl; the first to expire first.
  std::uint64_t last_id_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::uint64_t expired_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::uint64_t late_releases_ SLUICE_GUARDED_BY(mutex_) = 0;
};

ConcurrencyLimiter::ConcurrencyLimiter(std::uint32_t limit, const Clock& clock,
                                       ConcurrencyOptions options)
    : line_(std::make_unique<Line>(limit, clock, options)) {}

ConcurrencyLimiter::~ConcurrencyLimiter() = default;

Permit ConcurrencyLimiter::try_acquire(Cost cost) noexcept {
  const auto grant = line_->try_acquire(cost);
  return grant ? Permit(*this, cost, grant->expires_at, grant->id) : Permit();
}

PermitResult ConcurrencyLimiter::acquire(Cost cost, Instant deadline, const std::stop_token& stop) {
  Line::Grant grant;
  const AcquireOutcome outcome = line_->acquire(cost, deadline, stop, grant);
  if (outcome != AcquireOutcome::granted) return {outcome, Permit()};
  return {outcome, Permit(*this, cost, grant.expires_at, grant.id)};
}

void ConcurrencyLimiter::set_limit(std::uint32_t limit) noexcept {
  line_->set_limit(limit);
}

void ConcurrencyLimiter::close() noexcept {
  line_->close();
}

ConcurrencyStats ConcurrencyLimiter::stats() const noexcept {
  return line_->stats();
}

bool Permit::release() noexcept {
  ConcurrencyLimiter* const limiter = std::exchange(limiter_, nullptr);
  return limiter != nullptr && limiter->line_->release({expires_at_, id_}, cost_);
}

bool Permit::renew() noexcept {
  if (limiter_ == nullptr) return false;
  ConcurrencyLimiter::Line::Grant grant{expires_at_, id_};
  const bool is_renewed = limiter_->line_->renew(grant);
  expires_at_ = grant.expires_at;
  return is_renewed;
}

}  // namespace sluice
