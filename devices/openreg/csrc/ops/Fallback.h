// ATen/core/boxing/KernelFunction.h: the boxed fallback as a kernel.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace openreg {

// Runs the CPU's kernel for the operator on the device's memory.
void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// The same for tensors that are not plain strided ones, or that become so: the
// CPU's kernel is then found by the arguments, not on the CPU's dense key.
void fallback_any_layout(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace openreg
