// c10/core/Stream.h: current, default and pooled streams.
//
// Thread safety: the current stream is thread local.
#include "Streams.h"

#include <array>

namespace openreg {
namespace {

constexpr int kMaxDevices = 16;
thread_local std::array<c10::StreamId, kMaxDevices> current_ids{};

size_t checked(c10::DeviceIndex device) { return static_cast<size_t>(existing(device)); }

c10::Stream make_stream(c10::DeviceIndex device, c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, device_of(device), id);
}

}  // namespace

sim_stream* handle_of(c10::Stream stream) {
  sim_stream* handle = nullptr;
  check(sim_stream_get(stream.device_index(), static_cast<int>(stream.id()), &handle));
  return handle;
}

c10::Stream default_stream(c10::DeviceIndex device) {
  checked(device);
  return make_stream(device, 0);
}

c10::Stream current_stream(c10::DeviceIndex device) {
  return make_stream(device, current_ids[checked(device)]);
}

c10::Stream exchange_stream(c10::Stream stream) {
  const c10::Stream before = current_stream(stream.device_index());
  current_ids[checked(stream.device_index())] = stream.id();
  return before;
}

c10::Stream pool_stream(c10::DeviceIndex device, int priority) {
  int index = 0;
  check(sim_stream_from_pool(device, priority, &index));
  return make_stream(device, index);
}

}  // namespace openreg
