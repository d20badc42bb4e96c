// Kernels and copies: open the named pages, run, close them again.
//
// Thread safety: a launch owns copies of everything that it needs, so the
// caller's descriptor may die as soon as the call returns.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device.h"
#include "fault.h"
#include "stream.h"

namespace sim {
namespace {

std::atomic<sim_activity_callback> activity_callback{nullptr};
thread_local uint64_t correlation = 0;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

struct Launch {
  std::string name;
  sim_kernel run;
  void (*drop)(void*);
  void* arg;
  std::vector<sim_buffer> buffers;
  unsigned generation;
  FaultPoint point;
  uint64_t caller = correlation;

  Launch(const sim_launch_desc& desc, unsigned generation, FaultPoint point)
      : name(desc.name), run(desc.run), drop(desc.drop), arg(desc.arg),
        buffers(desc.buffers, desc.buffers + desc.buffer_count), generation(generation), point(point) {}
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  ~Launch() {
    if (drop != nullptr) drop(arg);
  }
};

// Opens the pages of all buffers, or none of them.
class Opened {
 public:
  explicit Opened(const std::vector<sim_buffer>& buffers) : buffers_(buffers) {
    for (; count_ < buffers_.size(); ++count_) {
      status_ = sim_memory_open(buffers_[count_].ptr, buffers_[count_].bytes);
      if (status_ != SIM_OK) break;
    }
  }
  ~Opened() {
    while (count_ > 0) {
      --count_;
      sim_memory_close(buffers_[count_].ptr, buffers_[count_].bytes);
    }
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  sim_status status() const { return status_; }

 private:
  const std::vector<sim_buffer>& buffers_;
  size_t count_ = 0;
  sim_status status_ = SIM_OK;
};

void corrupt(const std::vector<sim_buffer>& buffers) {
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

sim_status execute(const Launch& launch, int device, int stream) {
  if (device_at(device).generation != launch.generation) return SIM_OK;  // dropped by a reset
  const FaultKind fault = fault_at(launch.point);
  const bool run = inject(fault, device, launch.generation);
  if (device_at(device).lost) return fail(SIM_DEVICE_LOST, "device %d was lost in kernel %s", device, launch.name.c_str());
  if (!run) return SIM_OK;
  const Opened opened(launch.buffers);
  SIM_RETURN_IF(opened.status());
  char error[400] = "";
  const int64_t start = now_ns();
  const int result = launch.run(launch.arg, error, sizeof error);
  const int64_t end = now_ns();
  if (fault == FaultKind::kWrongResult) corrupt(launch.buffers);
  if (auto callback = activity_callback.load()) {
    const sim_activity activity = {launch.name.c_str(), device, stream, launch.point == FaultPoint::kCopy,
                                   start, end, launch.caller};
    callback(&activity);
  }
  if (result != 0) return fail(SIM_LAUNCH_FAILED, "kernel %s failed: %s", launch.name.c_str(), error);
  return SIM_OK;
}

sim_status launch_at(sim_stream* stream, const sim_launch_desc* desc, FaultPoint point) {
  const sim_status status = check_stream(stream);
  const unsigned generation = status == SIM_OK ? device_at(stream->device).generation.load() : 0;
  auto launch = std::make_shared<Launch>(*desc, generation, point);
  SIM_RETURN_IF(status);
  enqueue(stream, [stream, launch = std::move(launch)] {
    const sim_status result = execute(*launch, stream->device, stream->index);
    if (result != SIM_OK) set_error(stream, result, sim_last_error());
  });
  return SIM_OK;
}

struct Copy {
  void* dst;
  const void* src;
  size_t bytes;
};

int run_copy(void* arg, char*, size_t) {
  const Copy* copy = static_cast<const Copy*>(arg);
  std::memcpy(copy->dst, copy->src, copy->bytes);
  return 0;
}

}  // namespace
}  // namespace sim

void sim_set_activity_callback(sim_activity_callback callback) { sim::activity_callback = callback; }

void sim_set_correlation(uint64_t correlation) { sim::correlation = correlation; }

sim_status sim_launch(sim_stream* stream, const sim_launch_desc* desc) {
  return sim::launch_at(stream, desc, sim::FaultPoint::kLaunch);
}

sim_status sim_launch_inline(sim_stream* stream, const sim_launch_desc* desc) {
  const sim_status ready = sim_stream_synchronize(stream);
  const unsigned generation = ready == SIM_OK ? sim::device_at(stream->device).generation.load() : 0;
  const sim::Launch launch(*desc, generation, sim::FaultPoint::kLaunch);
  SIM_RETURN_IF(ready);
  return sim::execute(launch, stream->device, stream->index);
}

sim_status sim_memcpy_async(void* dst, const void* src, size_t bytes, sim_stream* stream) {
  if (bytes == 0) return sim::check_stream(stream);
  if (dst == nullptr || src == nullptr) return sim::fail(SIM_INVALID_VALUE, "a copy needs two addresses");
  const sim_buffer buffers[] = {{dst, bytes, 1}, {const_cast<void*>(src), bytes, 0}};
  const sim_launch_desc desc = {
      "memcpy", sim::run_copy, [](void* arg) { delete static_cast<sim::Copy*>(arg); },
      new sim::Copy{dst, src, bytes}, buffers, 2};
  return sim::launch_at(stream, &desc, sim::FaultPoint::kCopy);
}
