#include "stream.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "device.h"
#include "fault.h"

namespace sim {
namespace {

constexpr int kStreamsPerDevice = 33;  // the default stream and a pool of 32

struct StreamTable {
  std::mutex mutex;
  std::atomic<sim_stream*> streams[kMaxDevices][kStreamsPerDevice] = {};
  pid_t owner = getpid();
};

StreamTable& table() {
  static StreamTable* instance = new StreamTable();
  return *instance;
}

void serve(sim_stream* stream) {
  std::unique_lock lock(stream->mutex);
  while (true) {
    stream->changed.wait(lock, [&] { return stream->stopping || !stream->tasks.empty(); });
    if (stream->tasks.empty()) return;
    {
      std::function<void()> task = std::move(stream->tasks.front());
      stream->tasks.pop_front();
      stream->running = true;
      lock.unlock();
      task();
    }  // the task's captures die before the stream reports itself idle
    lock.lock();
    stream->running = false;
    stream->changed.notify_all();
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
        std::lock_guard lock(stream->mutex);
        stream->stopping = true;
        stream->changed.notify_all();
      }
      stream->worker.join();
    }
  }
}

}  // namespace

sim_status check_stream(const sim_stream* stream) {
  if (stream == nullptr) return fail(SIM_INVALID_VALUE, "the stream must not be null");
  return check_device(stream->device);
}

sim_stream* existing_stream(int device, int index) { return table().streams[device][index]; }

void enqueue(sim_stream* stream, std::function<void()> task) {
  std::lock_guard lock(stream->mutex);
  stream->tasks.push_back(std::move(task));
  stream->changed.notify_all();
}

void set_error(sim_stream* stream, sim_status status, const char* text) {
  std::lock_guard lock(stream->mutex);
  if (stream->error != SIM_OK) return;
  stream->error = status;
  stream->error_text = text;
}

void drain_and_forget_error(sim_stream* stream) {
  std::unique_lock lock(stream->mutex);
  stream->changed.wait(lock, [&] { return stream->tasks.empty() && !stream->running; });
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
    std::lock_guard lock(all.mutex);
    stream = slot;
    if (stream == nullptr) {
      static const int registered = std::atexit(stop_workers);
      (void)registered;
      stream = new sim_stream(device, index);
      stream->worker = std::thread(serve, stream);
      slot.store(stream, std::memory_order_release);
    }
  }
  *out = stream;
  return SIM_OK;
}

sim_status sim_stream_query(sim_stream* stream) {
  SIM_RETURN_IF(sim::check_stream(stream));
  std::lock_guard lock(stream->mutex);
  if (!stream->tasks.empty() || stream->running) return sim::fail(SIM_NOT_READY, "the stream has work left");
  return SIM_OK;
}

sim_status sim_stream_synchronize(sim_stream* stream) {
  using namespace sim;
  SIM_RETURN_IF(check_stream(stream));
  if (fault_fires(FaultPoint::kSync, FaultKind::kLostDevice)) sim_device_lose(stream->device);
  std::unique_lock lock(stream->mutex);
  stream->changed.wait(lock, [&] { return stream->tasks.empty() && !stream->running; });
  if (stream->error != SIM_OK) {
    const sim_status status = stream->error;
    stream->error = SIM_OK;
    return fail(status, "%s", stream->error_text.c_str());
  }
  if (device_at(stream->device).lost) return fail(SIM_DEVICE_LOST, "device %d is lost", stream->device);
  return SIM_OK;
}
