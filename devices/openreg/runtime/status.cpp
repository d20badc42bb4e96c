#include "status.h"

#include <pthread.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace sim {
namespace {

thread_local char last_error[512];
std::atomic<bool> initialized{false};
std::atomic<bool> bad_fork{false};

void after_fork_in_child() {
  // Worker threads do not survive a fork, and a lock may be held by one of
  // them for ever: the only safe answer in the child is a clean refusal.
  if (initialized) bad_fork = true;
}

}  // namespace

sim_status fail(sim_status status, const char* format, ...) {
  va_list args;
  va_start(args, format);
  std::vsnprintf(last_error, sizeof last_error, format, args);
  va_end(args);
  return status;
}

sim_status enter() {
  if (bad_fork.load(std::memory_order_relaxed)) {
    return fail(SIM_BAD_FORK,
                "Cannot re-initialize openreg in forked subprocess. To use openreg with "
                "multiprocessing, you must use the 'spawn' start method");
  }
  if (!initialized.load(std::memory_order_acquire)) {
    SIM_RETURN_IF(sim_check_environment());
    static const int registered = pthread_atfork(nullptr, nullptr, after_fork_in_child);
    (void)registered;
    initialized.store(true, std::memory_order_release);
  }
  return SIM_OK;
}

}  // namespace sim

const char* sim_last_error(void) { return sim::last_error; }

int sim_initialized(void) { return sim::initialized ? 1 : 0; }

int sim_bad_fork(void) { return sim::bad_fork ? 1 : 0; }

const char* sim_status_name(sim_status status) {
  switch (status) {
    case SIM_OK: return "SIM_OK";
    case SIM_INVALID_VALUE: return "SIM_INVALID_VALUE";
    case SIM_INVALID_DEVICE: return "SIM_INVALID_DEVICE";
    case SIM_INVALID_POINTER: return "SIM_INVALID_POINTER";
    case SIM_OUT_OF_MEMORY: return "SIM_OUT_OF_MEMORY";
    case SIM_NOT_READY: return "SIM_NOT_READY";
    case SIM_LAUNCH_FAILED: return "SIM_LAUNCH_FAILED";
    case SIM_DEVICE_LOST: return "SIM_DEVICE_LOST";
    case SIM_BAD_FORK: return "SIM_BAD_FORK";
    case SIM_TIMING_OFF: return "SIM_TIMING_OFF";
    case SIM_NOT_SHAREABLE: return "SIM_NOT_SHAREABLE";
  }
  return "SIM_UNKNOWN";
}
