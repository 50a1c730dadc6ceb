// Targets take turns by number: the n-th request of target t is number n * targets + t.
#include "load/load_schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sluice::load {

LoadSchedule::LoadSchedule(const LoadPlan& plan)
    : started_(plan.targets.size(), 0),
      total_(plan.requests.value_or(std::numeric_limits<std::uint64_t>::max())),
      duration_(plan.duration),
      ns_per_request_(plan.per_second > 0 ? 1e9 / plan.per_second : 0) {}

std::uint64_t LoadSchedule::number_of(std::size_t target) const {
  return started_[target] * started_.size() + target;
}

Instant LoadSchedule::due_at(std::uint64_t number) const {
  const double ns = std::min(static_cast<double>(number) * ns_per_request_, 9e18);
  return begin_ + Duration{std::llround(ns)};
}

std::optional<LoadSchedule::Start> LoadSchedule::take(std::size_t target, Instant now) {
  const std::uint64_t number = number_of(target);
  if (is_stopped_ || number >= total_ || now >= end()) return std::nullopt;
  const Instant due = ns_per_request_ > 0 ? due_at(number) : now;
  if (due > now) return std::nullopt;
  ++started_[target];
  return Start{number, due};
}

bool LoadSchedule::is_over(Instant now) const {
  if (is_stopped_ || now >= end()) return true;
  for (std::size_t target = 0; target < started_.size(); ++target) {
    if (number_of(target) < total_) return false;
  }
  return true;
}

Instant LoadSchedule::next_due(std::size_t target) const {
  const std::uint64_t number = number_of(target);
  if (ns_per_request_ <= 0 || is_stopped_ || number >= total_) return kInstantMax;
  const Instant due = due_at(number);
  return due < end() ? due : kInstantMax;
}

std::uint64_t LoadSchedule::unsent(Instant now) const {
  if (ns_per_request_ <= 0) return 0;
  const auto elapsed = static_cast<double>((std::min(now, end()) - begin_).count());
  const double due = std::clamp(std::ceil(elapsed / ns_per_request_), 0.0, 9e18);
  const std::uint64_t wanted = std::min(total_, static_cast<std::uint64_t>(due));
  std::uint64_t sent = 0;
  for (const std::uint64_t started : started_) sent += started;
  return wanted > sent ? wanted - sent : 0;
}

}  // namespace sluice::load
