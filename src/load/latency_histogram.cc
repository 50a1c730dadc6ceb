// Values below 128 ns have a slot each; above, the power of two picks a row, the seven bits after
// the leading one the step within it.
#include "load/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice::load {

std::size_t LatencyHistogram::slot_of(std::uint64_t ns) noexcept {
  if (ns < kSteps) return ns;
  const int shift = static_cast<int>(std::bit_width(ns)) - 1 - kStepBits;
  return (static_cast<std::size_t>(shift) + 1) * kSteps + ((ns >> shift) & (kSteps - 1));
}

std::uint64_t LatencyHistogram::highest_in(std::size_t slot) noexcept {
  if (slot < kSteps) return slot;
  const std::size_t shift = slot / kSteps - 1;
  return ((kSteps + slot % kSteps + 1) << shift) - 1;
}

void LatencyHistogram::record(Duration latency) noexcept {
  const Duration value = std::max(latency, Duration{0});
  ++slots_[slot_of(static_cast<std::uint64_t>(std::min(value.count(), kLatencyMax)))];
  ++count_;
  sum_ns_ += static_cast<double>(value.count());
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
}

Duration LatencyHistogram::mean() const noexcept {
  if (count_ == 0) return Duration{0};
  return Duration{std::llround(sum_ns_ / static_cast<double>(count_))};
}

Duration LatencyHistogram::percentile(double share) const noexcept {
  if (count_ == 0) return Duration{0};
  const double wanted = std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_));
  const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  std::uint64_t seen = 0;
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    seen += slots_[slot];
    if (seen >= rank) {
      return std::min(max_, Duration{static_cast<std::int64_t>(highest_in(slot))});
    }
  }
  return max_;
}

}  // namespace sluice::load
