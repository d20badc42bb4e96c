// Small kernels for the tests.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "harness.h"

// Waits until the test opens the gate: for catching a stream while it is busy.
struct Gate {
  std::atomic<bool> open{false};
  std::atomic<bool> entered{false};
};

inline int wait_at_gate(void* arg, const sim_buffer*, char*, size_t) {
  Gate* gate = static_cast<Gate*>(arg);
  gate->entered = true;
  while (!gate->open) std::this_thread::sleep_for(std::chrono::microseconds(100));
  return 0;
}

inline int increment(void* arg, const sim_buffer*, char*, size_t) {
  ++*static_cast<int*>(arg);
  return 0;
}

inline int fail_on_purpose(void*, const sim_buffer*, char* error, size_t size) {
  std::snprintf(error, size, "on purpose");
  return 1;
}

inline sim_launch_desc kernel(sim_kernel run, void* arg, const sim_buffer* buffers = nullptr, size_t count = 0) {
  return {"test", run, nullptr, arg, buffers, count};
}

inline sim_stream* stream(int index = 0, int device = 0) {
  sim_stream* result = nullptr;
  EXPECT_OK(sim_stream_get(device, index, &result));
  return result;
}
