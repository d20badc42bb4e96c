#include "stream.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "device.h"
#include "fault.h"
#include "spin.h"

namespace sim {
namespace {

constexpr int kPoolSize = 32;
constexpr int kFirstUrgent = 1 + kPoolSize;  // after the default stream and the pool of priority 0
constexpr int kStreamsPerDevice = kFirstUrgent + kPoolSize;

struct StreamTable {
  Mutex mutex;  // for creating streams
  std::atomic<sim_stream*> streams[kMaxDevices][kStreamsPerDevice] = {};
  std::atomic<unsigned> turns[kMaxDevices][2] = {};  // of the two pools
  pid_t owner = getpid();
};

// Which kernels of a device may begin: while one of an urgent stream is ready or
// runs, only urgent ones. What waits for an event is not ready, so no stream
// waits for another one that waits for it.
class Precedence {
 public:
  void claim() { urgent_++; }
  void release() {
    if (--urgent_ > 0) return;
    wake();
  }
  void wake() {
    { Lock lock(mutex_); }
    yielded_.notify_all();
  }
  void wait(const sim_stream* stream) {
    if (urgent_ == 0) return;
    Lock lock(mutex_);
    while (urgent_ > 0 && !stream->stopping) lock.wait(yielded_);
  }

 private:
  Mutex mutex_;
  std::condition_variable yielded_;
  std::atomic<int> urgent_{0};
};

Precedence& precedence_of(const sim_stream* stream) {
  static Precedence* all = new Precedence[kMaxDevices];
  return all[stream->device];
}

StreamTable& table() {
  static StreamTable* instance = new StreamTable();
  return *instance;
}

thread_local Turn* innermost_turn = nullptr;

void wait_until_finished(sim_stream* stream, uint64_t ticket) {
  thread_local Patience patience;
  if (stream->finished.load(std::memory_order_acquire) >= ticket) return;
  if (patience.wait([&] { return stream->finished.load(std::memory_order_acquire) >= ticket; })) return;
  // Whoever raises the counter looks at `waiting` afterwards, so one of the two
  // sees the other.
  stream->waiting++;
  {
    Lock lock(stream->mutex);
    while (stream->finished < ticket && !stream->stopping) lock.wait(stream->advanced);
  }
  stream->waiting--;
}

void finish(sim_stream* stream, uint64_t ticket) {
  stream->finished = ticket;
  if (stream->waiting == 0) return;
  // The lock, so that the signal cannot fall between a look and a sleep.
  { Lock lock(stream->mutex); }
  stream->advanced.notify_all();
}

// All queued tasks at once; null when the stream is stopping.
std::unique_ptr<Task> next_tasks(sim_stream* stream, Patience& patience) {
  patience.wait([&] { return stream->has_tasks.load(std::memory_order_relaxed) || stream->stopping; });
  Lock lock(stream->mutex);
  stream->worker_sleeps = true;
  while (stream->first == nullptr && !stream->stopping) lock.wait(stream->arrived);
  stream->worker_sleeps = false;
  stream->has_tasks = false;
  return std::move(stream->first);
}

void serve(sim_stream* stream) {
  Patience patience;
  Precedence& precedence = precedence_of(stream);
  const auto is_urgent = [stream](const std::unique_ptr<Task>& task) {
    return stream->urgent && task != nullptr && task->computes();
  };
  while (std::unique_ptr<Task> task = next_tasks(stream, patience)) {
    if (is_urgent(task)) precedence.claim();
    while (task != nullptr) {
      const uint64_t ticket = task->ticket;
      wait_until_finished(stream, ticket - 1);
      std::unique_ptr<Task> next = std::move(task->next);
      const bool claimed = is_urgent(task);
      if (!stream->urgent && task->computes()) precedence.wait(stream);
      if (!stream->stopping) task->run();
      if (is_urgent(next)) precedence.claim();  // nothing slips in between two kernels
      task = std::move(next);  // what the task held dies before the stream reports itself idle
      if (claimed) precedence.release();
      finish(stream, ticket);
    }
  }
}

// Ends the workers before static destructors run under their feet. A forked
// child inherits the handler but not the threads.
void stop_workers() {
  StreamTable& all = table();
  if (all.owner != getpid()) return;
  for (int device = 0; device < sim_device_count(); ++device) device_at(device).generation++;
  for (auto& of_device : all.streams) {
    for (auto& slot : of_device) {
      sim_stream* stream = slot;
      if (stream == nullptr) continue;
      {
        Lock lock(stream->mutex);
        stream->stopping = true;
      }
      stream->arrived.notify_all();
      stream->advanced.notify_all();
      precedence_of(stream).wake();
      stream->worker.join();
    }
  }
}

// Work that other threads queue in the meantime does not prolong the wait.
void wait_for_all(sim_stream* stream) {
  if (!Turn::held_by_caller(stream)) wait_until_finished(stream, stream->drawn);
}

}  // namespace

sim_status check_stream(const sim_stream* stream) {
  if (stream == nullptr) return fail(SIM_INVALID_VALUE, "the stream must not be null");
  return check_device(stream->device);
}

sim_stream* existing_stream(int device, int index) { return table().streams[device][index]; }

Turn::Turn(sim_stream* stream) : stream_(stream), nested_(held_by_caller(stream)), outer_(innermost_turn) {
  innermost_turn = this;
  if (nested_) return;
  {
    Lock lock(stream->mutex);
    ticket_ = ++stream->drawn;
  }
  wait_until_finished(stream, ticket_ - 1);
  if (outer_ != nullptr) return;  // a part of the kernel around it
  if (stream->urgent) {
    precedence_of(stream).claim();
  } else {
    precedence_of(stream).wait(stream);
  }
}

Turn::~Turn() {
  innermost_turn = outer_;
  if (nested_) return;
  if (outer_ == nullptr && stream_->urgent) precedence_of(stream_).release();
  finish(stream_, ticket_);
}

bool Turn::held_by_caller(const sim_stream* stream) {
  for (const Turn* turn = innermost_turn; turn != nullptr; turn = turn->outer_) {
    if (turn->stream_ == stream) return true;
  }
  return false;
}

void enqueue(sim_stream* stream, std::unique_ptr<Task> task) {
  if (Turn::held_by_caller(stream)) return task->run();
  bool wake = false;
  {
    Lock lock(stream->mutex);
    task->ticket = ++stream->drawn;
    Task* const added = task.get();
    (stream->first == nullptr ? stream->first : stream->last->next) = std::move(task);
    stream->last = added;
    stream->has_tasks.store(true, std::memory_order_relaxed);
    wake = stream->worker_sleeps;
  }
  if (wake) stream->arrived.notify_one();
}

void set_error(sim_stream* stream, sim_status status, const char* text) {
  Lock lock(stream->mutex);
  if (stream->error != SIM_OK) return;
  stream->error = status;
  stream->error_text = text;
  stream->failed = true;
}

sim_status take_error(sim_stream* stream) {
  if (!stream->failed) return SIM_OK;
  Lock lock(stream->mutex);
  stream->failed = false;
  if (stream->error == SIM_OK) return SIM_OK;  // another thread was faster
  return fail(std::exchange(stream->error, SIM_OK), "%s", stream->error_text.c_str());
}

void drain(int device) {
  for (auto& slot : table().streams[device]) {
    if (sim_stream* stream = slot) wait_for_all(stream);
  }
}

void drain_and_forget_error(sim_stream* stream) {
  wait_for_all(stream);
  Lock lock(stream->mutex);
  stream->failed = false;
  stream->error = SIM_OK;
}

}  // namespace sim

int sim_stream_count(void) { return sim::kStreamsPerDevice; }

sim_status sim_stream_get(int device, int index, sim_stream** out) {
  using namespace sim;
  SIM_RETURN_IF(check_device(device));
  if (index < 0 || index >= kStreamsPerDevice) return fail(SIM_INVALID_VALUE, "no stream %d", index);
  StreamTable& all = table();
  auto& slot = all.streams[device][index];
  sim_stream* stream = slot.load(std::memory_order_acquire);
  if (stream == nullptr) {
    Lock lock(all.mutex);
    stream = slot;
    if (stream == nullptr) {
      static const int registered = std::atexit(stop_workers);
      (void)registered;
      stream = new sim_stream(device, index, index >= kFirstUrgent);
      stream->worker = std::thread(serve, stream);
      slot.store(stream, std::memory_order_release);
    }
  }
  *out = stream;
  return SIM_OK;
}

sim_status sim_stream_from_pool(int device, int priority, int* index) {
  using namespace sim;
  SIM_RETURN_IF(sim_device_check(device));
  if (priority != 0 && priority != -1) return fail(SIM_INVALID_VALUE, "stream priority %d is not in [-1, 0]", priority);
  const unsigned turn = table().turns[device][-priority]++ % kPoolSize;
  *index = (priority == 0 ? 1 : kFirstUrgent) + static_cast<int>(turn);
  return SIM_OK;
}

sim_status sim_stream_query(sim_stream* stream) {
  SIM_RETURN_IF(sim::check_stream(stream));
  if (stream->finished.load(std::memory_order_acquire) < stream->drawn) {
    return sim::fail(SIM_NOT_READY, "the stream has work left");
  }
  return SIM_OK;
}

sim_status sim_stream_synchronize(sim_stream* stream) {
  using namespace sim;
  SIM_RETURN_IF(check_stream(stream));
  if (fault_fires(FaultPoint::kSync, FaultKind::kLostDevice)) sim_device_lose(stream->device);
  wait_for_all(stream);
  SIM_RETURN_IF(take_error(stream));
  if (device_at(stream->device).lost) return fail(SIM_DEVICE_LOST, "device %d is lost", stream->device);
  return SIM_OK;
}
