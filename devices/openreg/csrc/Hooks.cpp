// ATen/detail/PrivateUse1HooksInterface.h: the questions that device-neutral
// code in PyTorch asks about this device.
//
// Thread safety: stateless.
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include <ATen/core/CachingHostAllocator.h>

#include "Generator.h"
#include "Runtime.h"
#include "Storage.h"

namespace openreg {
namespace {

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex device) const override {
    existing(device);
    return sim_initialized() != 0;
  }
  void init() const override {}

  c10::DeviceIndex deviceCount() const override { return device_count(); }
  void setCurrentDevice(c10::DeviceIndex device) const override { check(sim_device_set(device)); }
  c10::DeviceIndex getCurrentDevice() const override { return index_or_current(c10::Device(kDeviceType)); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    const c10::DeviceIndex before = getCurrentDevice();
    if (before != device) setCurrentDevice(device);
    return before;
  }
  // A negative index means "leave it as it is".
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return device < 0 ? getCurrentDevice() : exchangeDevice(device);
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return at::make_generator<DeviceGenerator>(existing(index_or_current(c10::Device(kDeviceType, device))));
  }

  bool isPinnedPtr(const void* data) const override {
    sim_memory_kind kind = SIM_MEMORY_OTHER;
    int device = -1;
    check(sim_pointer_info(data, &kind, &device));
    return kind == SIM_MEMORY_PINNED;
  }
  at::Allocator* getPinnedMemoryAllocator() const override { return at::getHostAllocator(kDeviceType); }

  at::Device getDeviceFromPtr(void* data) const override {
    sim_memory_kind kind = SIM_MEMORY_OTHER;
    int device = -1;
    check(sim_pointer_info(data, &kind, &device));
    TORCH_CHECK(kind == SIM_MEMORY_DEVICE, "this address is not in openreg memory");
    return device_of(static_cast<c10::DeviceIndex>(device));
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    resize_storage(storage.unsafeGetStorageImpl(), bytes);
  }
};

struct Registration {
  Registration() { at::RegisterPrivateUse1HooksInterface(new Hooks()); }
} registration;

}  // namespace
}  // namespace openreg
