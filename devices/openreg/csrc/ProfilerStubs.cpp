// torch/csrc/profiler/stubs/base.h: device times for the profiler without
// Kineto, which brackets each operator with two events.
//
// Thread safety: stateless.
#include <torch/csrc/profiler/stubs/base.h>

#include <chrono>

#include "Runtime.h"
#include "Streams.h"

namespace openreg {
namespace {

using torch::profiler::impl::ProfilerVoidEventStub;

struct Stubs final : torch::profiler::impl::ProfilerStubs {
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event, int64_t* cpu_ns) const override {
    const c10::DeviceIndex current = index_or_current(c10::Device(kDeviceType));
    if (device != nullptr) *device = current;
    sim_event* created = nullptr;
    check(sim_event_create(current, 1, &created));
    *event = ProfilerVoidEventStub(created, [](void* ptr) { (void)sim_event_destroy(static_cast<sim_event*>(ptr)); });
    if (cpu_ns != nullptr) {
      *cpu_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count();
    }
    check(sim_event_record(created, current_handle(current)));
  }

  float elapsed(const ProfilerVoidEventStub* start, const ProfilerVoidEventStub* end) const override {
    auto* first = static_cast<sim_event*>(start->get());
    auto* last = static_cast<sim_event*>(end->get());
    check(sim_event_synchronize(first));
    check(sim_event_synchronize(last));
    double milliseconds = 0;
    check(sim_event_elapsed_ms(first, last, &milliseconds));
    return static_cast<float>(milliseconds * 1000.0);
  }

  void mark(const char*) const override {}
  void rangePush(const char*) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }

  void onEachDevice(std::function<void(int)> op) const override {
    int current = 0;
    check(sim_device_get(&current));
    for (int device = 0; device < sim_device_count(); ++device) {
      check(sim_device_set(device));
      op(device);
    }
    check(sim_device_set(current));
  }

  void synchronize() const override { check(sim_device_synchronize(index_or_current(c10::Device(kDeviceType)))); }
};

struct Registration {
  Registration() { torch::profiler::impl::registerPrivateUse1Methods(new Stubs()); }
} registration;

}  // namespace
}  // namespace openreg
