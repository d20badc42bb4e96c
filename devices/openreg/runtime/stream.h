// Streams: a queue and a worker thread each.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "status.h"

// Thread safety: everything below the mutex is guarded by it. The worker takes
// the front task with the mutex held and runs it without. `running` keeps the
// stream busy in between, so that a query cannot say done too early.
struct sim_stream {
  const int device;
  const int index;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool running = false;
  bool stopping = false;
  sim_status error = SIM_OK;  // first failure since the last synchronisation
  std::string error_text;
  std::thread worker;

  sim_stream(int device, int index) : device(device), index(index) {}
};

namespace sim {

// SIM_INVALID_VALUE for null, or the state of the stream's device.
sim_status check_stream(const sim_stream* stream);

// Null if nobody asked for this stream so far.
sim_stream* existing_stream(int device, int index);

void enqueue(sim_stream* stream, std::function<void()> task);

// Remembers the failure for the next synchronisation; the first one wins.
void set_error(sim_stream* stream, sim_status status, const char* text);

// Waits until the queue is empty and drops a pending error.
void drain_and_forget_error(sim_stream* stream);

}  // namespace sim
