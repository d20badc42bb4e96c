// Streams: a queue and a worker thread each.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <string>
#include <thread>

#include "status.h"
#include "thread_safety.h"

namespace sim {

// What a stream does for one ticket.
struct Task {
  Task() = default;
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual void run() = 0;
  // Whether it is a kernel, which priorities are about.
  virtual bool computes() const { return false; }
  uint64_t ticket = 0;
  std::unique_ptr<Task> next;
};

}  // namespace sim

// Work is done in the order of its tickets. A ticket's turn has come when
// `finished` has reached the one before; whoever holds it, the worker for queued
// tasks or a thread with an inline launch, raises `finished` when done. So a
// query cannot say done too early, and nothing overtakes.
//
// Thread safety: the two counters are atomic, so that waiting can begin without
// the mutex; tickets are drawn with it held. The rest says what guards it.
struct sim_stream {
  const int device;
  const int index;
  const bool urgent;  // has the higher of the two priorities

  std::atomic<uint64_t> drawn{0};
  std::atomic<uint64_t> finished{0};
  std::atomic<int> waiting{0};        // threads that sleep on `advanced`
  std::atomic<bool> has_tasks{false};  // for the worker to look at without the mutex

  sim::Mutex mutex;
  std::condition_variable arrived;   // the worker sleeps on it
  std::condition_variable advanced;  // `finished` has risen
  std::unique_ptr<sim::Task> first SIM_GUARDED_BY(mutex);
  sim::Task* last SIM_GUARDED_BY(mutex) = nullptr;
  bool worker_sleeps SIM_GUARDED_BY(mutex) = false;
  std::atomic<bool> stopping{false};
  std::atomic<bool> failed{false};  // there is an error, for a look without the mutex
  sim_status error SIM_GUARDED_BY(mutex) = SIM_OK;  // first failure since the last synchronisation
  std::string error_text SIM_GUARDED_BY(mutex);
  std::thread worker;

  sim_stream(int device, int index, bool urgent) : device(device), index(index), urgent(urgent) {}
};

namespace sim {

// SIM_INVALID_VALUE for null, or the state of the stream's device.
sim_status check_stream(const sim_stream* stream);

// Null if nobody asked for this stream so far.
sim_stream* existing_stream(int device, int index);

// Queues the task. Inside an inline launch on the same stream it runs at once,
// as a part of that.
void enqueue(sim_stream* stream, std::unique_ptr<Task> task);

// The calling thread's turn in a stream, from after all work that was queued
// before until the end of the object's life.
class Turn {
 public:
  explicit Turn(sim_stream* stream);
  ~Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  static bool held_by_caller(const sim_stream* stream);

 private:
  sim_stream* const stream_;
  const bool nested_;  // inside another turn of this thread in this stream
  uint64_t ticket_ = 0;
  Turn* const outer_;
};

// Remembers the failure for the next synchronisation; the first one wins.
void set_error(sim_stream* stream, sim_status status, const char* text);

// The pending failure, which is thereby reported, or SIM_OK.
sim_status take_error(sim_stream* stream);

// Waits for all streams of the device, whatever its health, and leaves their
// errors to be reported.
void drain(int device);

// Waits until all work is done and drops a pending error.
void drain_and_forget_error(sim_stream* stream);

}  // namespace sim
