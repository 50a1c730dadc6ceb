// The names behind the numbers under which lanes count: append-only, so that a count outlives the
// rules that made it and a number never changes its meaning. Bounded: what comes after the last
// place is counted in one place called `~other`.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"

namespace sluice {

struct SeriesName {
  std::string domain;
  std::string label;  // Empty: the domain as a whole.
};

class SeriesNames {
 public:
  // Requires names_max >= 1: the first place is `~other`'s.
  explicit SeriesNames(std::size_t names_max);

  // The number of this name, given on its first call; 0 when all places are taken. Any thread.
  std::uint32_t number_of(std::string_view domain, std::string_view label);

  // The same for a name made of what callers send: of those at most `detailed_max` get a number.
  std::uint32_t detailed_number_of(std::string_view domain, std::string_view label,
                                   std::size_t detailed_max);

  std::size_t size() const;  // Numbers in use are below it.
  SeriesName name(std::uint32_t number) const;

 private:
  std::uint32_t find_or_add(std::string_view domain, std::string_view label, bool may_add)
      SLUICE_REQUIRES(mutex_);

  const std::size_t names_max_;
  mutable Mutex mutex_;
  std::deque<SeriesName> names_ SLUICE_GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::uint32_t> numbers_ SLUICE_GUARDED_BY(mutex_);
  std::size_t detailed_ SLUICE_GUARDED_BY(mutex_) = 0;
};

}  // namespace sluice
