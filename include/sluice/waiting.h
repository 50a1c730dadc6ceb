// What a blocking call answers: how it ended and, when it was not granted, how long it would have
// been.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sluice/vocabulary/time.h"

namespace sluice {

enum class AcquireOutcome : std::uint8_t {
  granted,
  deadline,    // Its turn would come after the deadline: told at once where that is known.
  cancelled,   // The stop token was stopped.
  queue_full,  // As many wait already as may.
  closed,      // The limiter was closed, or is being destroyed.
  never,       // The cost can never fit.
};

// Whatever is not granted has consumed nothing.
struct [[nodiscard]] AcquireResult {
  AcquireOutcome outcome = AcquireOutcome::granted;
  // deadline, queue_full: how long the wait would have been, where that is known; never: kNever.
  Duration wait{0};

  explicit operator bool() const noexcept { return outcome == AcquireOutcome::granted; }
};

struct WaitStats {
  std::size_t waiting = 0;
  std::uint64_t wake_ups = 0;  // How often any waiter has been awake since the start.
};

inline constexpr std::size_t kWaitersMaxDefault = 1024;

}  // namespace sluice
