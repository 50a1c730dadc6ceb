#include "engine/series_names.h"

namespace sluice {

SeriesNames::SeriesNames(std::size_t names_max) : names_max_(names_max) {
  names_.push_back({"~other", "~other"});
}

std::uint32_t SeriesNames::number_of(std::string_view domain, std::string_view label) {
  const MutexLock lock(mutex_);
  return find_or_add(domain, label, true);
}

std::uint32_t SeriesNames::detailed_number_of(std::string_view domain, std::string_view label,
                                              std::size_t detailed_max) {
  const MutexLock lock(mutex_);
  const std::size_t names_before = names_.size();
  const std::uint32_t number = find_or_add(domain, label, detailed_ < detailed_max);
  detailed_ += names_.size() - names_before;
  return number;
}

std::uint32_t SeriesNames::find_or_add(std::string_view domain, std::string_view label,
                                       bool may_add) {
  std::string key;
  key.reserve(domain.size() + 1 + label.size());
  key.append(domain).append(1, '\0').append(label);
  if (const auto found = numbers_.find(key); found != numbers_.end()) return found->second;
  if (!may_add || names_.size() >= names_max_) return 0;
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.push_back({std::string{domain}, std::string{label}});
  numbers_.emplace(std::move(key), number);
  return number;
}

std::size_t SeriesNames::size() const {
  const MutexLock lock(mutex_);
  return names_.size();
}

SeriesName SeriesNames::name(std::uint32_t number) const {
  const MutexLock lock(mutex_);
  return names_[number];
}

}  // namespace sluice
