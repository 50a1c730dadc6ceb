// A histogram of latencies with a fixed size and a bounded relative error, after the idea of
// HdrHistogram: 128 linear steps in each power of two of nanoseconds, so a percentile is at most
// 1/128 (0.8 %) above the true value. One thread.
#pragma once

#include <array>
#include <cstdint>

#include "sluice/vocabulary/time.h"

namespace sluice::load {

class LatencyHistogram {
 public:
  // Negative counts as 0; more than an hour as an hour (max() still tells the truth).
  void record(Duration latency) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  Duration min() const noexcept { return count_ == 0 ? Duration{0} : min_; }
  Duration max() const noexcept { return max_; }
  Duration mean() const noexcept;

  // The smallest step below which `share` (0 to 1) of the values lie; 0 when nothing was recorded.
  Duration percentile(double share) const noexcept;

 private:
  static constexpr int kStepBits = 7;
  static constexpr std::uint64_t kSteps = 1U << kStepBits;
  static constexpr std::int64_t kLatencyMax = std::int64_t{3600} * 1'000'000'000;
  static constexpr std::size_t kSlots = (42 - kStepBits + 1) * kSteps;  // 2^42 ns is over an hour.

  static std::size_t slot_of(std::uint64_t ns) noexcept;
  static std::uint64_t highest_in(std::size_t slot) noexcept;

  std::array<std::uint64_t, kSlots> slots_{};
  std::uint64_t count_ = 0;
  double sum_ns_ = 0;
  Duration min_{Duration::max()};
  Duration max_{0};
};

}  // namespace sluice::load
