// ATen/core/boxing/KernelFunction.h: operators that change lists of tensors in
// place: the _foreach_ operators and the fused steps of optimizers.
//
// One launch does the work for the whole list. A call that one kernel cannot
// serve goes where it would go without this file: tensor by tensor, or to the
// fallback.
#include <ATen/MemoryOverlap.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <utility>

#include "Fallback.h"
#include "HostViews.h"
#include "Launch.h"
#include "Layouts.h"
#include "OperatorCounts.h"

namespace openreg {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;
using Tensors = std::vector<at::Tensor>;

bool is_plain(const at::Tensor& tensor, c10::Device device) {
  return tensor.defined() && tensor.device() == device && is_plain_strided(tensor) && !tensor.is_conj() &&
         !tensor.is_neg() && tensor.is_non_overlapping_and_dense();
}

// What the kernel would refuse has to be refused before the call returns.
bool is_like(const at::Tensor& target, const at::Tensor& operand) {
  return target.scalar_type() == operand.scalar_type() && target.sizes() == operand.sizes() &&
         target.strides() == operand.strides() &&
         at::get_overlap_status(target, operand) != at::MemOverlapStatus::Partial;
}

bool fits_one_launch(c10::ArrayRef<c10::IValue> arguments, bool fused) {
  const Tensors targets = arguments[0].toTensorVector();
  if (targets.empty() || !on_device(targets[0]) || !at::isFloatingType(targets[0].scalar_type())) return false;
  const c10::Device device = targets[0].device();
  for (const c10::IValue& argument : arguments) {
    if (argument.isTensorList()) {
      const Tensors operands = argument.toTensorVector();
      if (fused && operands.empty()) continue;  // an optional list
      if (operands.size() != targets.size()) return false;
      for (size_t i = 0; i < operands.size(); ++i) {
        const bool counts_steps = fused && operands[i].dim() == 0;
        if (!is_plain(operands[i], device) || !(counts_steps || is_like(targets[i], operands[i]))) return false;
      }
    } else if (argument.isTensor()) {
      if (!fused || !is_plain(argument.toTensor(), device)) return false;
    } else if (argument.isList()) {
      if (argument.toListRef().size() != targets.size()) return false;
      for (const c10::IValue& number : argument.toListRef()) {
        if (number.isComplexDouble()) return false;
      }
    } else if (argument.isComplexDouble()) {
      return false;
    }
  }
  return true;
}

c10::IValue on_host(const c10::IValue& value, HostViews& views, bool written) {
  if (value.isTensor()) return views.view(value.toTensor(), written);
  if (!value.isTensorList()) return value;
  c10::List<at::Tensor> list;
  for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(views.view(tensor, written));
  return list;
}

void launch_list(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  counter_for(op).native();
  const auto& schema = op.schema().arguments();
  const auto values = torch::jit::last(*stack, schema.size());
  const c10::DeviceIndex device = values[0].toTensorVector()[0].device().index();
  HostViews views(HostViews::Lifetime::kBorrowed);
  torch::jit::Stack host;
  for (size_t i = 0; i < schema.size(); ++i) {
    const bool written = schema[i].alias_info() != nullptr && schema[i].alias_info()->isWrite();
    host.push_back(on_host(values[i], views, written));
  }
  launch(op.operator_name().name.c_str(), device, views, [op, host = std::move(host)]() mutable {
    op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), &host);
  });
  torch::jit::drop(*stack, schema.size());
}

void foreach_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (fits_one_launch(torch::jit::last(*stack, op.schema().arguments().size()), false)) return launch_list(op, stack);
  // Under the CPU's key is PyTorch's loop over the list, which serves any device.
  op.redispatchBoxed(DispatchKeySet(DispatchKey::CPU), stack);
}

void fused_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (fits_one_launch(torch::jit::last(*stack, op.schema().arguments().size()), true)) return launch_list(op, stack);
  fallback(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findOp(name);
    if (!name.name.ends_with('_') || !op || !op->hasSchema() || !op->schema().returns().empty()) continue;
    const bool has_kernel_of_cpu = op->hasKernelForDispatchKey(DispatchKey::CPU);
    if (name.name.starts_with("aten::_foreach_") && !has_kernel_of_cpu) {
      m.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&foreach_kernel>());
    } else if (name.name.starts_with("aten::_fused_") && has_kernel_of_cpu) {
      m.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&fused_kernel>());
    }
  }
}

}  // namespace
}  // namespace openreg
