// c10/core/Device.h: reading devices off the arguments of a call.
#include "ArgumentDevices.h"

#include <ATen/core/Tensor.h>

#include "HostViews.h"

namespace openreg {
namespace {

DeviceRule device_rule = nullptr;

void visit(ArgumentDevices& found, const at::Tensor& tensor, bool written) {
  if (!tensor.defined()) return;
  if (on_device(tensor)) {
    if (!found.device) found.device = tensor.device();
    if (*found.device != tensor.device()) found.second = tensor.device();
  } else if (written || tensor.dim() > 0) {
    if (!found.host) found.host = tensor.device();
    found.host_written |= written;
  } else {
    found.host_scalar |= !tensor.unsafeGetTensorImpl()->is_wrapped_number();
  }
}

ArgumentDevices devices_of(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const auto values = torch::jit::last(stack, arguments.size());
  ArgumentDevices found;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool written = arguments[i].alias_info() != nullptr && arguments[i].alias_info()->isWrite();
    const c10::IValue& value = values[i];
    if (value.isTensor()) {
      visit(found, value.toTensor(), written);
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) visit(found, tensor, written);
    } else if (value.isOptionalTensorList()) {
      for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
        if (tensor) visit(found, *tensor, written);
      }
    } else if (value.isDevice() && value.toDevice().type() == kDeviceType) {
      found.named = device_of(index_or_current(value.toDevice()));
    }
  }
  return found;
}

}  // namespace

void set_device_rule(DeviceRule rule) { device_rule = rule; }

c10::Device common_device(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const ArgumentDevices found = devices_of(op, stack);
  if (device_rule != nullptr) device_rule(op, found);
  if (found.device) return *found.device;
  return found.named.value_or(device_of(index_or_current(c10::Device(kDeviceType))));
}

c10::Device result_device(const c10::OperatorHandle& op, const torch::jit::Stack& stack, c10::Device runs_on) {
  for (const c10::IValue& value : torch::jit::last(stack, op.schema().arguments().size())) {
    if (!value.isDevice()) continue;
    const c10::Device named = value.toDevice();
    return named.type() == kDeviceType ? device_of(index_or_current(named)) : named;
  }
  return runs_on;
}

}  // namespace openreg
