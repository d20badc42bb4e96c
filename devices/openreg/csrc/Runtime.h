// c10/util/Exception.h: from the runtime's status codes to PyTorch's exceptions.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include "openreg_sim.h"

namespace openreg {

// The device type under which this plugin is registered, before and after the
// rename that the Python package does.
constexpr c10::DeviceType kDeviceType = c10::DeviceType::PrivateUse1;

inline c10::Device device_of(c10::DeviceIndex index) { return {kDeviceType, index}; }

// Memory of the device, as a launch names it.
using Buffer = sim_buffer;

// Throws the exception that PyTorch users expect for this failure: out of
// memory is recoverable and has a type of its own, the rest are device errors.
void check(sim_status status);

inline c10::DeviceIndex device_count() { return static_cast<c10::DeviceIndex>(sim_device_count()); }

// The calling thread's device when `device` has no index.
c10::DeviceIndex index_or_current(c10::Device device);

// The same index, which a device has, or the exception that says so.
inline c10::DeviceIndex existing(c10::DeviceIndex index) {
  check(sim_device_check(index));
  return index;
}

}  // namespace openreg
