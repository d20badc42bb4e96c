// Waiting awake for a moment: going to sleep and being woken costs more than
// most kernels of a test take.
#pragma once

#include <algorithm>
#include <thread>

namespace sim {

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

// How long to stay awake, in turns of a loop: longer after it was worth it,
// shorter after it was not, with a full try now and then to notice that times
// have changed; never on a machine where nobody else could work meanwhile.
class Patience {
 public:
  // True as soon as `ready` is; false when it was not within the budget.
  template <class Ready>
  bool wait(Ready ready) {
    static const bool alone = std::thread::hardware_concurrency() < 2;
    const int budget = ++tries_ % 16 == 0 ? kMost : budget_;
    for (int i = alone ? 0 : budget; i > 0; --i) {
      if (ready()) {
        budget_ = std::min(budget_ * 2, kMost);
        return true;
      }
      relax();
    }
    budget_ = std::max(budget_ / 2, kLeast);
    return ready();
  }

 private:
  static constexpr int kLeast = 50;
  static constexpr int kMost = 1000;  // some tens of microseconds
  int budget_ = kMost;
  unsigned tries_ = 0;
};

}  // namespace sim
