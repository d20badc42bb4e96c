// c10/util/Exception.h: from the driver's status codes to PyTorch's exceptions.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include "card.h"

namespace mydevice {

constexpr c10::DeviceType kDeviceType = c10::DeviceType::PrivateUse1;

inline c10::Device device_of(c10::DeviceIndex index) { return {kDeviceType, index}; }

// An address of the card travels in a pointer of PyTorch, which only adds offsets to it.
inline uint64_t address_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// Memory of the device, as a launch names it.
struct Buffer {
  void* ptr;
  size_t bytes;
  int writes;
};

void check(card_status status);

inline c10::DeviceIndex device_count() { return static_cast<c10::DeviceIndex>(card_count()); }

// There is one card.
inline c10::DeviceIndex index_or_current(c10::Device device) { return device.has_index() ? device.index() : 0; }

inline c10::DeviceIndex existing(c10::DeviceIndex index) {
  TORCH_CHECK(index >= 0 && index < device_count(), "the device index ", static_cast<int>(index), " is out of range");
  return index;
}

}  // namespace mydevice
