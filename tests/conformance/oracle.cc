#include "tests/conformance/oracle.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "sluice/vocabulary/wide.h"

namespace sluice::conformance {
namespace {

// How many hits a limit lets through when nothing has happened yet.
std::uint64_t fresh_count(const Limit& limit) {
  if (limit.requests == 0) return 0;
  if (limit.algorithm == Algorithm::token_bucket) return limit.burst;
  if (limit.algorithm == Algorithm::leaky_bucket) {
    return std::min<std::uint64_t>(std::uint64_t{limit.burst} + 1, kCostMax);
  }
  return limit.requests;
}

bool is_bucket(const Limit& limit) {
  return limit.algorithm == Algorithm::token_bucket || limit.algorithm == Algorithm::leaky_bucket;
}

// A bucket that lets nothing through is never charged, and keeps what an earlier limit left in it.
bool is_shut(const Limit& limit) {
  return is_bucket(limit) && fresh_count(limit) == 0;
}

// The first instant from `from` on at which a question that once true stays true is answered yes.
template <typename Question>
Instant first_yes(Instant from, Question question) {
  if (question(from)) return from;
  std::int64_t no = from.ns;
  std::int64_t yes = kInstantMax.ns;
  while (yes - no > 1) {
    const std::int64_t middle = no + (yes - no) / 2;
    (question(Instant{middle}) ? yes : no) = middle;
  }
  return {yes};
}

// Tokens drip in, `requests` each period, up to `burst` (a leaky bucket: burst + 1 free places).
// The balance is kept in tokens times the period, so a nanosecond brings exactly `requests`.
class BucketModel final : public Model {
 public:
  explicit BucketModel(const Limit& limit) : limit_(limit) {}
  std::unique_ptr<Model> copy() const override { return std::make_unique<BucketModel>(*this); }
  bool is_ever_seen() const override { return is_seen_; }

  void change_limit(const Limit& limit, Instant now) override {
    const bool is_same = limit.requests == limit_.requests && limit.burst == limit_.burst;
    if (is_seen_ && !is_same) advance(now);
    limit_ = limit;
    balance_ = std::min(balance_, full());
  }
  bool fits(Cost cost, Instant now) const override {
    return balance_at(now) >= SignedWide{cost} * limit_.period.count();
  }
  bool is_at_rest(Instant now) const override { return balance_at(now) == full(); }
  void charge(Cost cost, Instant now, const std::string&) override {
    advance(now);
    is_seen_ = true;
    balance_ -= SignedWide{cost} * limit_.period.count();
  }
  void refund(Cost cost, Instant now) override {
    if (!is_seen_) return;
    if (is_at_rest(now)) return;
    advance(now);
    balance_ = std::min(balance_ + SignedWide{cost} * limit_.period.count(), full());
  }

 private:
  SignedWide full() const { return SignedWide{fresh_count(limit_)} * limit_.period.count(); }
  SignedWide balance_at(Instant now) const {
    if (!is_seen_) return full();
    return std::min(balance_ + (SignedWide{now.ns} - last_.ns) * limit_.requests, full());
  }
  void advance(Instant now) {
    balance_ = balance_at(now);
    last_ = now;
  }

  Limit limit_;
  bool is_seen_ = false;
  SignedWide balance_ = 0;
  Instant last_;
};

// Counts by window, for fixed and two-window sliding ones. Time that goes back stays in the newest
// window that was charged.
class WindowModel final : public Model {
 public:
  explicit WindowModel(const Limit& limit) : limit_(limit) {}
  std::unique_ptr<Model> copy() const override { return std::make_unique<WindowModel>(*this); }
  bool is_ever_seen() const override { return true; }
  void change_limit(const Limit& limit, Instant) override { limit_ = limit; }

  bool fits(Cost cost, Instant now) const override {
    const SignedWide period = limit_.period.count();
    SignedWide estimate = (SignedWide{count(window(now))} + cost) * period;
    if (limit_.algorithm == Algorithm::sliding_window) {
      const SignedWide begin = SignedWide{window(now)} * period;
      const SignedWide elapsed = std::max<SignedWide>(now.ns - begin, 0);
      estimate += SignedWide{count(window(now) - 1)} * (period - elapsed);
    }
    return estimate <= SignedWide{limit_.requests} * period;
  }
  bool is_at_rest(Instant now) const override {
    return count(window(now)) == 0 &&
           (limit_.algorithm == Algorithm::fixed_window || count(window(now) - 1) == 0);
  }
  void charge(Cost cost, Instant now, const std::string&) override {
    newest_ = window(now);
    std::uint64_t& counted = counts_[newest_];
    counted = std::min<std::uint64_t>(counted + std::min(cost, kCostMax), kCostMax);
  }
  void refund(Cost cost, Instant now) override {
    newest_ = window(now);
    counts_[newest_] -= std::min<std::uint64_t>(cost, counts_[newest_]);
    if (is_at_rest(now)) newest_ = -1;
    if (newest_ < 0) counts_.clear();
  }

 private:
  std::int64_t window(Instant now) const {
    return std::max(now.ns / limit_.period.count(), newest_);
  }
  std::uint64_t count(std::int64_t index) const {
    const auto at = counts_.find(index);
    return at == counts_.end() ? 0 : at->second;
  }

  Limit limit_;
  std::int64_t newest_ = -1;
  std::map<std::int64_t, std::uint64_t> counts_;
};

// A list of hits, each with the instant until which it counts. For the log that is its own instant
// plus the period, for sub-windows the end of its slice plus the period.
class HitsModel final : public Model {
 public:
  explicit HitsModel(const Limit& limit) : limit_(limit) {}
  std::unique_ptr<Model> copy() const override { return std::make_unique<HitsModel>(*this); }
  bool is_ever_seen() const override { return true; }
  void change_limit(const Limit& limit, Instant) override { limit_ = limit; }

  bool fits(Cost cost, Instant now) const override {
    std::uint64_t counted = cost;
    for (const Hits& hits : hits_) counted += hits.until > now ? hits.count : 0;
    return counted <= limit_.requests;
  }
  bool is_at_rest(Instant now) const override { return hits_.empty() || hits_.back().until <= now; }
  void charge(Cost cost, Instant now, const std::string&) override {
    forget(now);
    Instant until = now + limit_.period;
    if (limit_.sub_windows > 0) {
      const std::int64_t slice =
          (limit_.period.count() + limit_.sub_windows - 1) / limit_.sub_windows;
      until = Instant{(now.ns / slice + 1) * slice} + limit_.period;
    }
    if (!hits_.empty()) until = std::max(until, hits_.back().until);
    if (hits_.empty() || hits_.back().until != until) hits_.push_back({until, 0});
    std::uint64_t& counted = hits_.back().count;
    counted += std::min(cost, kCostMax);
    if (limit_.sub_windows > 0) counted = std::min<std::uint64_t>(counted, kCostMax);
  }
  void refund(Cost cost, Instant now) override {
    forget(now);
    while (!hits_.empty() && cost >= hits_.back().count) {
      cost -= hits_.back().count;
      hits_.pop_back();
    }
    if (!hits_.empty()) hits_.back().count -= cost;
  }

 private:
  struct Hits {
    Instant until;
    std::uint64_t count;
  };
  void forget(Instant now) {
    while (!hits_.empty() && hits_.front().until <= now) hits_.pop_front();
  }

  Limit limit_;
  std::deque<Hits> hits_;
};

class PermitsModel final : public Model {
 public:
  explicit PermitsModel(const Limit& limit) : limit_(limit) {}
  std::unique_ptr<Model> copy() const override { return std::make_unique<PermitsModel>(*this); }
  bool is_ever_seen() const override { return true; }
  void change_limit(const Limit& limit, Instant) override { limit_ = limit; }

  bool fits(Cost cost, Instant now) const override {
    std::uint64_t held = cost;
    for (const Permit& permit : permits_) held += permit.expires_at > now ? permit.count : 0;
    return held <= limit_.requests;
  }
  bool is_at_rest(Instant now) const override {
    return std::all_of(permits_.begin(), permits_.end(),
                       [&](const Permit& permit) { return permit.expires_at <= now; });
  }
  void charge(Cost cost, Instant now, const std::string& name) override {
    forget(now);
    permits_.push_back({name, cost, now + limit_.permit_ttl});
    sort();
  }
  void refund(Cost cost, Instant now) override {
    forget(now);
    while (!permits_.empty() && cost >= permits_.front().count) {
      cost -= permits_.front().count;
      permits_.erase(permits_.begin());
    }
    if (!permits_.empty()) permits_.front().count -= cost;
  }
  bool release(const std::string& name, Instant now) override {
    return std::erase_if(permits_, [&](const Permit& permit) {
             return permit.name == name && permit.expires_at > now;
           }) > 0;
  }
  bool renew(const std::string& name, Instant now) override {
    for (auto permit = permits_.begin(); permit != permits_.end(); ++permit) {
      if (permit->name != name || permit->expires_at <= now) continue;
      Permit renewed = *permit;
      permits_.erase(permit);
      renewed.expires_at = std::max(renewed.expires_at, now + limit_.permit_ttl);
      permits_.push_back(renewed);
      sort();
      return true;
    }
    return false;
  }

 private:
  struct Permit {
    std::string name;
    Cost count;
    Instant expires_at;
  };
  void forget(Instant now) {
    std::erase_if(permits_, [&](const Permit& permit) { return permit.expires_at <= now; });
  }
  void sort() {
    std::stable_sort(permits_.begin(), permits_.end(),
                     [](const Permit& a, const Permit& b) { return a.expires_at < b.expires_at; });
  }

  Limit limit_;
  std::vector<Permit> permits_;
};

}  // namespace

std::unique_ptr<Model> make_model(const Limit& limit) {
  switch (limit.algorithm) {
    case Algorithm::token_bucket:
    case Algorithm::leaky_bucket:
      return std::make_unique<BucketModel>(limit);
    case Algorithm::concurrency:
      return std::make_unique<PermitsModel>(limit);
    case Algorithm::sliding_log:
      return std::make_unique<HitsModel>(limit);
    case Algorithm::fixed_window:
    case Algorithm::sliding_window:
      break;
  }
  if (limit.sub_windows > 0) return std::make_unique<HitsModel>(limit);
  return std::make_unique<WindowModel>(limit);
}

void Oracle::change_limit(const Limit& limit) {
  limit_ = limit;
}

std::unique_ptr<Model> Oracle::current(const std::string& key, Instant now) const {
  const auto found = entries_.find(key);
  const bool has_period = limit_.algorithm != Algorithm::concurrency;
  if (found == entries_.end() || is_shut(limit_) || !found->second.model->is_ever_seen() ||
      found->second.limit.algorithm != limit_.algorithm ||
      found->second.limit.sub_windows != limit_.sub_windows ||
      (has_period && found->second.limit.period != limit_.period)) {
    return make_model(limit_);
  }
  auto model = found->second.model->copy();
  if (!(found->second.limit == limit_)) model->change_limit(limit_, now);
  return model;
}

Model& Oracle::make_current(const std::string& key, Instant now) {
  auto model = current(key, now);
  Entry& entry = entries_[key];
  entry.model = std::move(model);
  entry.limit = limit_;
  return *entry.model;
}

Decision Oracle::describe(const Model& model, const std::string& key, Cost cost,
                          Instant now) const {
  const std::uint64_t fresh = fresh_count(limit_);
  Decision decision;
  decision.limit = static_cast<std::uint32_t>(fresh);
  std::uint64_t fits = 0;
  std::uint64_t too_many = fresh + 1;
  while (too_many - fits > 1) {
    const std::uint64_t middle = fits + (too_many - fits) / 2;
    (model.fits(middle, now) ? fits : too_many) = middle;
  }
  decision.remaining = static_cast<std::uint32_t>(fits);
  decision.reset_after = first_yes(now, [&](Instant at) { return model.is_at_rest(at); }) - now;
  if (cost > fresh) {
    decision.retry_after = kNever;
  } else if (cost > 0 || (limit_.overdraft && fresh > 0)) {
    decision.retry_after = first_yes(now, [&](Instant at) { return model.fits(cost, at); }) - now;
  }
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.blocked_until > now) {
    const Duration left = found->second.blocked_until - now;
    decision.remaining = 0;
    decision.reset_after = std::max(decision.reset_after, left);
    if (cost > 0) decision.retry_after = std::max(decision.retry_after, left);
  }
  if (decision.retry_after > Duration{0}) decision.verdict = Verdict::denied;
  if (decision.verdict == Verdict::allowed && cost > 0 &&
      limit_.algorithm == Algorithm::leaky_bucket) {
    decision.delay = decision.reset_after;
  }
  return decision;
}

Decision Oracle::peek(const std::string& key, Cost cost, Instant now) const {
  return describe(*current(key, now), key, cost, now);
}

Decision Oracle::take(const std::string& key, Cost cost, Instant now, const std::string& permit) {
  const Decision asked = peek(key, cost, now);
  if (cost == 0 || is_shut(limit_)) return asked;
  if (entries_.contains(key) && entries_[key].blocked_until > now) return asked;
  Model& model = make_current(key, now);
  Entry& entry = entries_[key];
  const bool overdraws = limit_.overdraft && cost <= kCostMax && fresh_count(limit_) > 0;
  const bool is_allowed = asked.verdict == Verdict::allowed || overdraws;
  const Duration delay =
      overdraws && limit_.algorithm == Algorithm::leaky_bucket ? asked.reset_after : asked.delay;
  if (is_allowed || limit_.count_denied) model.charge(cost, now, permit);
  if (!is_allowed && asked.retry_after != kNever && limit_.block_for > Duration{0}) {
    entry.blocked_until = now + limit_.block_for;
  }
  Decision after = describe(model, key, is_allowed ? 0 : cost, now);
  after.verdict = is_allowed ? Verdict::allowed : Verdict::denied;
  if (is_allowed) after.retry_after = Duration{0};
  after.delay = is_allowed ? delay : Duration{0};
  return after;
}

void Oracle::refund(const std::string& key, Cost cost, Instant now) {
  if (cost > 0 && entries_.contains(key) && !is_shut(limit_))
    make_current(key, now).refund(cost, now);
}

bool Oracle::release(const std::string& key, const std::string& permit, Instant now) {
  return entries_.contains(key) && entries_[key].model->release(permit, now);
}

bool Oracle::renew(const std::string& key, const std::string& permit, Instant now) {
  return entries_.contains(key) && make_current(key, now).renew(permit, now);
}

}  // namespace sluice::conformance
