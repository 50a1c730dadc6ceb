// How to wait for a lock that is held for some tens of nanoseconds: first within the core, then by
// giving way to other threads, among them perhaps the holder.
#pragma once

#include <sched.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace sluice {

class Backoff {
 public:
  void pause() noexcept {
    if (++turns_ > kTurnsMax) {
      ::sched_yield();
      return;
    }
#if defined(__x86_64__)
    _mm_pause();
#endif
  }

 private:
  static constexpr int kTurnsMax = 64;  // About 2 us: several times what a lock is held for.
  int turns_ = 0;
};

}  // namespace sluice
