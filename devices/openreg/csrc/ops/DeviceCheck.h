// c10/core/Device.h: may these arguments be used together?
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "../Runtime.h"

namespace openreg {

// The one device on which the operator runs. Throws the error that every other
// accelerator gives when host and device tensors, or two devices, are mixed;
// as there, a zero-dimensional host tensor may stand for a number in pointwise
// operators. Without any device tensor a Device argument decides.
c10::Device common_device(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

// Where fresh results belong: on the device that an argument names, which may
// be the host, or else where the operator runs.
c10::Device result_device(const c10::OperatorHandle& op, const torch::jit::Stack& stack, c10::Device runs_on);

}  // namespace openreg
