// A mutex whose rules clang proves: what it guards says so with SLUICE_GUARDED_BY, and touching it
// without the lock does not compile under -Wthread-safety. Mutex is a BasicLockable, so
// std::condition_variable_any waits on it directly.
#pragma once

#include <mutex>

#if defined(__clang__)
#define SLUICE_ANNOTATE(x) __attribute__((x))
#else
#define SLUICE_ANNOTATE(x)
#endif

#define SLUICE_CAPABILITY(name) SLUICE_ANNOTATE(capability(name))
#define SLUICE_SCOPED_CAPABILITY SLUICE_ANNOTATE(scoped_lockable)
#define SLUICE_GUARDED_BY(mutex) SLUICE_ANNOTATE(guarded_by(mutex))
#define SLUICE_REQUIRES(...) SLUICE_ANNOTATE(requires_capability(__VA_ARGS__))
#define SLUICE_EXCLUDES(...) SLUICE_ANNOTATE(locks_excluded(__VA_ARGS__))
#define SLUICE_ACQUIRE(...) SLUICE_ANNOTATE(acquire_capability(__VA_ARGS__))
#define SLUICE_TRY_ACQUIRE(...) SLUICE_ANNOTATE(try_acquire_capability(__VA_ARGS__))
#define SLUICE_RELEASE(...) SLUICE_ANNOTATE(release_capability(__VA_ARGS__))
#define SLUICE_NO_THREAD_SAFETY_ANALYSIS SLUICE_ANNOTATE(no_thread_safety_analysis)

namespace sluice {

class SLUICE_CAPABILITY("mutex") Mutex {
 public:
  void lock() SLUICE_ACQUIRE() { mutex_.lock(); }
  void unlock() SLUICE_RELEASE() { mutex_.unlock(); }
  bool try_lock() SLUICE_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

// Holds a Mutex for its own lifetime.
class SLUICE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) SLUICE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() SLUICE_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace sluice
