#include "engine/lane.h"

#include <utility>

namespace sluice {

void Lane::check(const Request& request, AnswerSink& sink) noexcept {
  if (epoch_ != parts_.rules.epoch()) refresh();
  PendingRequest* pending = take_pending();
  if (pending == nullptr) {
    const Error error{ErrorCode::overloaded, "too many requests wait for the store"};
    return sink.answer({.verdict = Verdict::undecided, .error = &error});
  }
  SnapshotView& view = views_.back();
  ++view.readers;
  pending->begin(request, view, sink);
}

void Lane::refresh() {
  // The epoch first: a snapshot that comes between the two is fetched again next time.
  epoch_ = parts_.rules.epoch();
  views_.push_back({parts_.rules.current()});
  drop_old_views();
}

void Lane::drop_old_views() noexcept {
  while (views_.size() > 1 && views_.front().readers == 0) views_.pop_front();
}

PendingRequest* Lane::take_pending() {
  if (free_ != nullptr) return std::exchange(free_, free_->next_free_);
  if (pendings_.size() >= parts_.options.pending_max) return nullptr;
  pendings_.push_back(std::make_unique<PendingRequest>(*this));
  return pendings_.back().get();
}

void Lane::give_back(PendingRequest& pending, SnapshotView& view) noexcept {
  pending.next_free_ = std::exchange(free_, &pending);
  --view.readers;
  drop_old_views();
}

std::uint32_t Lane::detailed_series(const RuleMatch& match, const RuleLimit& rule,
                                    std::span<const Entry> entries,
                                    std::span<const std::string_view> identity) {
  label_.assign(rule.domain).push_back('\0');
  const std::size_t domain_end = label_.size();
  append_metric_label(label_, match, rule, entries, identity);
  if (const auto known = detailed_.find(std::string_view{label_}); known != detailed_.end()) {
    return known->second;
  }
  const std::uint32_t number = parts_.rules.registry().series.detailed_number_of(
      rule.domain, std::string_view{label_}.substr(domain_end), parts_.options.detailed_series_max);
  if (number != 0) detailed_.emplace(label_, number);
  return number;
}

void Lane::warn_of_unknown_domain(std::string_view domain, Instant now) {
  if (!parts_.options.on_unknown_domain) return;
  std::int64_t next = parts_.next_unknown_domain_ns.load(std::memory_order_relaxed);
  if (now.ns < next) return;
  constexpr Duration kPause = std::chrono::seconds{1};
  // Of lanes that come at the same time one speaks.
  if (parts_.next_unknown_domain_ns.compare_exchange_strong(next, (now + kPause).ns,
                                                            std::memory_order_relaxed)) {
    parts_.options.on_unknown_domain(domain);
  }
}

}  // namespace sluice
