// c10/core/Device.h: where an operator runs, and where its results belong.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>

#include "../Runtime.h"

namespace openreg {

// What the arguments of a call say about devices.
struct ArgumentDevices {
  std::optional<c10::Device> device;  // the first device tensor's
  std::optional<c10::Device> second;  // another one that a device tensor is on
  std::optional<c10::Device> host;    // a host tensor's that is more than a number
  std::optional<c10::Device> named;   // a Device argument's
  bool host_written = false;
  bool host_scalar = false;  // a host tensor without dimensions, made by the user
};

// A rule about what may be used together throws when it is broken. Without one
// everything may.
using DeviceRule = void (*)(const c10::OperatorHandle& op, const ArgumentDevices& devices);
void set_device_rule(DeviceRule rule);

// The device on which the operator runs: the tensors decide, or else a Device
// argument. Throws what the rule throws.
c10::Device common_device(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

// Where fresh results belong: on the device that an argument names, which may
// be the host, or else where the operator runs.
c10::Device result_device(const c10::OperatorHandle& op, const torch::jit::Stack& stack, c10::Device runs_on);

}  // namespace openreg
