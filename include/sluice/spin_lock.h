// A lock of one word for critical sections of a few nanoseconds: it lies on the line of the state
// that it guards, so that taking it brings the state along. Spins a little, then yields: its holder
// may have been descheduled.
#pragma once

#include <atomic>
#include <thread>

namespace sluice {

class SpinLock {
 public:
  void lock() noexcept {
    if (is_held_.exchange(true, std::memory_order_acquire)) [[unlikely]]
      lock_contended();
  }
  void unlock() noexcept { is_held_.store(false, std::memory_order_release); }

 private:
  static constexpr int kSpins = 64;

  [[gnu::noinline]] void lock_contended() noexcept {
    do {
      // Looking is cheaper than exchanging: the line stays shared until it is free.
      for (int spins = 0; is_held_.load(std::memory_order_relaxed); ++spins) {
        if (spins < kSpins) {
          pause();
        } else {
          std::this_thread::yield();
        }
      }
    } while (is_held_.exchange(true, std::memory_order_acquire));
  }

  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
  }

  std::atomic<bool> is_held_{false};
};

}  // namespace sluice
