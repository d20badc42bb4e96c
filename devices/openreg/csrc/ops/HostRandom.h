// ATen/CPUGeneratorImpl.h: random operators without a generator argument.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>

namespace openreg {

// While it lives, kernels that draw from the CPU's default generator draw from
// the device's instead. Only acts for operators that are tagged as seeded and
// take no generator.
//
// Thread safety: the default generator is shared by the process, so a host
// thread that draws at the same moment may see the device's numbers; the state
// that it leaves behind is restored either way.
class HostRandom {
 public:
  HostRandom(const c10::OperatorHandle& op, c10::DeviceIndex device);
  ~HostRandom();
  HostRandom(const HostRandom&) = delete;
  HostRandom& operator=(const HostRandom&) = delete;

 private:
  bool active_ = false;
  at::Generator device_engine_;
  c10::intrusive_ptr<c10::TensorImpl> saved_;
};

}  // namespace openreg
