// ATen/detail/PrivateUse1HooksInterface.h: the questions that device-neutral
// code in PyTorch asks about this device. Without pinned memory.
#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "Generator.h"
#include "Runtime.h"
#include "Storage.h"

namespace mydevice {
namespace {

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex device) const override {
    existing(device);
    return card_open() != 0;
  }
  void init() const override {}

  c10::DeviceIndex deviceCount() const override { return device_count(); }
  void setCurrentDevice(c10::DeviceIndex device) const override { existing(device); }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override { return existing(device), 0; }
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

  at::Device getDeviceFromPtr(void* data) const override {
    TORCH_CHECK(card_owns(address_of(data)), "this address is not in mydevice memory");
    return device_of(0);
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    resize_storage(storage.unsafeGetStorageImpl(), bytes);
  }
};

struct Registration {
  Registration() { at::RegisterPrivateUse1HooksInterface(new Hooks()); }
} registration;

}  // namespace
}  // namespace mydevice
