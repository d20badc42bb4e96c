#include "device.h"

#include "settings.h"
#include "stream.h"

namespace sim {
namespace {

thread_local int current_device = 0;

struct Table {
  Device devices[kMaxDevices];
  Table() {
    for (Device& device : devices) device.limit = settings().memory_limit;
  }
};

sim_status check_index(int index) {
  if (index < 0 || index >= sim_device_count()) {
    return fail(SIM_INVALID_DEVICE, "The device index is out of range: %d, with %d simulated device(s)", index,
                sim_device_count());
  }
  return SIM_OK;
}

}  // namespace

Device& device_at(int index) {
  // Leaked on purpose: worker threads may outlive static destruction.
  static Table* table = new Table();
  return table->devices[index];
}

sim_status check_device(int index) {
  SIM_RETURN_IF(enter());
  SIM_RETURN_IF(check_index(index));
  if (device_at(index).lost) return fail(SIM_DEVICE_LOST, "device %d is lost: reset it before further use", index);
  return SIM_OK;
}

sim_status check_readable(int index) {
  if (sim_bad_fork() != 0) return enter();  // for its message
  return check_index(index);
}

}  // namespace sim

int sim_device_count(void) { return sim::settings().devices; }

sim_status sim_device_check(int device) { return sim::check_index(device); }

sim_status sim_device_get(int* device) {
  if (device == nullptr) return sim::fail(SIM_INVALID_VALUE, "device must not be null");
  *device = sim::current_device;
  return SIM_OK;
}

sim_status sim_device_set(int device) {
  SIM_RETURN_IF(sim::check_index(device));
  sim::current_device = device;
  return SIM_OK;
}

sim_status sim_device_synchronize(int device) {
  SIM_RETURN_IF(sim::check_device(device));
  sim_status first = SIM_OK;
  for (int index = 0; index < sim_stream_count(); ++index) {
    sim_stream* stream = sim::existing_stream(device, index);
    if (stream == nullptr) continue;
    const sim_status status = sim_stream_synchronize(stream);
    if (first == SIM_OK) first = status;
  }
  return first;
}

sim_status sim_device_lose(int device) {
  SIM_RETURN_IF(sim::check_index(device));
  sim::device_at(device).lost = true;
  return SIM_OK;
}

sim_status sim_device_reset(int device) {
  SIM_RETURN_IF(sim::check_index(device));
  // The generation ends hung kernels; then the queues drain without running.
  sim::device_at(device).generation++;
  for (int index = 0; index < sim_stream_count(); ++index) {
    sim_stream* stream = sim::existing_stream(device, index);
    if (stream != nullptr) sim::drain_and_forget_error(stream);
  }
  sim::device_at(device).lost = false;
  return SIM_OK;
}

sim_status sim_device_memory_info(int device, size_t* free, size_t* total) {
  SIM_RETURN_IF(sim::check_index(device));
  const size_t limit = sim::device_at(device).limit;
  const size_t used = sim::device_at(device).used;
  *total = limit;
  *free = limit > used ? limit - used : 0;
  return SIM_OK;
}

sim_status sim_device_set_memory_limit(int device, size_t bytes) {
  SIM_RETURN_IF(sim::check_index(device));
  sim::device_at(device).limit = bytes;
  return SIM_OK;
}
