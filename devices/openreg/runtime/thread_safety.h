// Locks that clang's -Wthread-safety understands: it proves at compile time that
// what a mutex guards is only touched while it is held. Other compilers see
// ordinary locks. The words are those of clang's documentation.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define SIM_ANNOTATION(x) __attribute__((x))
#else
#define SIM_ANNOTATION(x)
#endif

#define SIM_GUARDED_BY(mutex) SIM_ANNOTATION(guarded_by(mutex))
#define SIM_REQUIRES(mutex) SIM_ANNOTATION(requires_capability(mutex))
#define SIM_EXCLUDES(mutex) SIM_ANNOTATION(locks_excluded(mutex))

namespace sim {

class SIM_ANNOTATION(capability("mutex")) Mutex {
 private:
  friend class Lock;
  std::mutex mutex_;
};

// Holds the mutex for as long as it lives. No predicates as in the standard's
// wait(): the analysis cannot see into them, so callers loop.
class SIM_ANNOTATION(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) SIM_ANNOTATION(acquire_capability(mutex)) : lock_(mutex.mutex_) {}
  ~Lock() SIM_ANNOTATION(release_capability()) {}
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  void wait(std::condition_variable& changed) { changed.wait(lock_); }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace sim
