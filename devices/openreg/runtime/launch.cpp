// Kernels and copies: tell the kernel where its memory is, and run it.
//
// Thread safety: a launch owns copies of everything that it needs besides the
// name, so the caller's descriptor may die as soon as the call returns.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include "device.h"
#include "fault.h"
#include "memory.h"
#include "stream.h"

namespace sim {
namespace {

std::atomic<sim_activity_callback> activity_callback{nullptr};
thread_local uint64_t correlation = 0;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A launch's buffers; most kernels have few.
class Buffers {
 public:
  Buffers(const sim_buffer* source, size_t count) : count_(count) {
    if (count > few_.size()) many_ = std::make_unique<sim_buffer[]>(count);
    std::copy_n(source, count, data());
  }
  sim_buffer* data() { return many_ ? many_.get() : few_.data(); }
  sim_buffer* begin() { return data(); }
  sim_buffer* end() { return data() + count_; }

 private:
  size_t count_;
  std::array<sim_buffer, 6> few_;
  std::unique_ptr<sim_buffer[]> many_;
};

struct Launch {
  const char* name;
  sim_kernel run;
  void (*drop)(void*);
  void* arg;
  Buffers buffers;
  unsigned generation;
  FaultPoint point;
  FaultKind fault;  // decided when it is launched, so that it does not depend on which worker is faster
  uint64_t caller = correlation;

  Launch(const sim_launch_desc& desc, unsigned generation, FaultPoint point)
      : name(desc.name), run(desc.run), drop(desc.drop), arg(desc.arg), buffers(desc.buffers, desc.buffer_count),
        generation(generation), point(point), fault(fault_at(point)) {}
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  ~Launch() {
    if (drop != nullptr) drop(arg);
  }
};

void corrupt(Buffers& buffers) {
  for (const sim_buffer& buffer : buffers) {
    if (!buffer.writes || buffer.bytes == 0) continue;
    unsigned char* bytes = static_cast<unsigned char*>(buffer.ptr);
    for (size_t i = 0; i < std::min<size_t>(buffer.bytes, 8); ++i) bytes[i] ^= 0x41;
    return;
  }
}

// Returns whether the kernel still has to run.
bool inject(FaultKind kind, int device, unsigned generation) {
  switch (kind) {
    case FaultKind::kCrash:
      std::raise(SIGSEGV);
      return false;
    case FaultKind::kHang:
      while (device_at(device).generation == generation) usleep(2000);
      return false;
    case FaultKind::kSlow:
      usleep(100'000);
      return true;
    case FaultKind::kLostDevice:
      device_at(device).lost = true;
      return false;
    default:
      return true;
  }
}

int run_timed(Launch& launch, int device, int stream, char* error, size_t error_size) {
  const auto callback = activity_callback.load();
  if (callback == nullptr) return launch.run(launch.arg, launch.buffers.data(), error, error_size);
  const int64_t start = now_ns();
  const int result = launch.run(launch.arg, launch.buffers.data(), error, error_size);
  const sim_activity activity = {launch.name, device, stream, launch.point == FaultPoint::kCopy, start, now_ns(),
                                 launch.caller};
  callback(&activity);
  return result;
}

sim_status execute(Launch& launch, int device, int stream) {
  if (device_at(device).generation != launch.generation) return SIM_OK;  // dropped by a reset
  const bool run = inject(launch.fault, device, launch.generation);
  if (device_at(device).lost) return fail(SIM_DEVICE_LOST, "device %d was lost in kernel %s", device, launch.name);
  if (!run) return SIM_OK;
  for (sim_buffer& buffer : launch.buffers) {
    SIM_RETURN_IF(address_for_kernels(buffer.ptr, buffer.bytes, &buffer.ptr));
  }
  char error[400];
  error[0] = '\0';
  const int result = run_timed(launch, device, stream, error, sizeof error);
  if (launch.fault == FaultKind::kWrongResult) corrupt(launch.buffers);
  if (result != 0) return fail(SIM_LAUNCH_FAILED, "kernel %s failed: %s", launch.name, error);
  return SIM_OK;
}

struct QueuedLaunch final : Task {
  sim_stream* stream;
  Launch launch;
  QueuedLaunch(sim_stream* stream, const sim_launch_desc& desc, unsigned generation, FaultPoint point)
      : stream(stream), launch(desc, generation, point) {}
  bool computes() const override { return true; }
  void run() override {
    const sim_status result = execute(launch, stream->device, stream->index);
    if (result != SIM_OK) set_error(stream, result, sim_last_error());
  }
};

sim_status queue(sim_stream* stream, const sim_launch_desc& desc, FaultPoint point) {
  const sim_status status = check_stream(stream);
  const unsigned generation = status == SIM_OK ? device_at(stream->device).generation.load() : 0;
  auto task = std::make_unique<QueuedLaunch>(stream, desc, generation, point);
  SIM_RETURN_IF(status);
  enqueue(stream, std::move(task));
  return SIM_OK;
}

sim_status run_in_turn(sim_stream* stream, const sim_launch_desc& desc, FaultPoint point) {
  const sim_status status = check_stream(stream);
  if (status == SIM_OK && fault_fires(FaultPoint::kSync, FaultKind::kLostDevice)) sim_device_lose(stream->device);
  // Before the launch, so that it ends after what the launch holds is dropped.
  std::optional<Turn> turn;
  if (status == SIM_OK) turn.emplace(stream);
  Launch launch(desc, status == SIM_OK ? device_at(stream->device).generation.load() : 0, point);
  SIM_RETURN_IF(status);
  SIM_RETURN_IF(take_error(stream));
  return execute(launch, stream->device, stream->index);
}

int run_copy(void*, const sim_buffer* memory, char*, size_t) {
  std::memcpy(memory[0].ptr, memory[1].ptr, memory[0].bytes);
  return 0;
}

sim_status copy(void* dst, const void* src, size_t bytes, sim_stream* stream, decltype(queue)* how) {
  if (bytes == 0) return check_stream(stream);
  if (dst == nullptr || src == nullptr) return fail(SIM_INVALID_VALUE, "a copy needs two addresses");
  const sim_buffer buffers[] = {{dst, bytes, 1}, {const_cast<void*>(src), bytes, 0}};
  return how(stream, {"memcpy", run_copy, nullptr, nullptr, buffers, 2}, FaultPoint::kCopy);
}

}  // namespace
}  // namespace sim

void sim_set_activity_callback(sim_activity_callback callback) { sim::activity_callback = callback; }

void sim_set_correlation(uint64_t correlation) { sim::correlation = correlation; }

sim_status sim_launch(sim_stream* stream, const sim_launch_desc* desc) {
  return sim::queue(stream, *desc, sim::FaultPoint::kLaunch);
}

sim_status sim_launch_inline(sim_stream* stream, const sim_launch_desc* desc) {
  return sim::run_in_turn(stream, *desc, sim::FaultPoint::kLaunch);
}

sim_status sim_memcpy_async(void* dst, const void* src, size_t bytes, sim_stream* stream) {
  return sim::copy(dst, src, bytes, stream, sim::queue);
}

sim_status sim_memcpy(void* dst, const void* src, size_t bytes, sim_stream* stream) {
  return sim::copy(dst, src, bytes, stream, sim::run_in_turn);
}
