// ATen/core/dispatch/Dispatcher.h: which operators ran, and on which route.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

namespace openreg {

// Thread safety: atomic counters; the table of them locks.
class CallCounter {
 public:
  void native() { native_.fetch_add(1, std::memory_order_relaxed); }
  void fallback() { fallback_.fetch_add(1, std::memory_order_relaxed); }

  struct Counts {
    int64_t native;
    int64_t fallback;
  };
  Counts read() const { return {native_.load(), fallback_.load()}; }
  void reset() { native_ = fallback_ = 0; }

 private:
  std::atomic<int64_t> native_{0};
  std::atomic<int64_t> fallback_{0};
};

// The counter lives as long as the process. Names are those of the schema
// without its namespace, for example "add.out".
CallCounter& counter_for(const std::string& name);
CallCounter& counter_for(const c10::OperatorHandle& op);

std::map<std::string, CallCounter::Counts> operator_counts();
void reset_operator_counts();

}  // namespace openreg
