// c10/core/Device.h: the check that a silent fallback to the CPU would lose.
#include "DeviceCheck.h"

#include <ATen/core/Tensor.h>

#include <string_view>
#include <unordered_set>

#include "HostViews.h"

namespace openreg {
namespace {

// Operators that take index or length tensors on the host by design.
bool takes_host_tensors(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {
      "aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index",
      "aten::_unsafe_index_put", "aten::_pack_padded_sequence", "aten::_nested_view_from_buffer"};
  return names.contains(name);
}

// Operators that are not tagged as pointwise, yet take host scalars on every
// accelerator: a value to write, or a learning rate.
bool takes_host_scalars(const c10::OperatorHandle& op) {
  static const std::unordered_set<std::string_view> names = {
      "aten::fill_", "aten::fill", "aten::masked_fill_", "aten::masked_fill", "aten::index_fill_",
      "aten::index_fill", "aten::where", "aten::searchsorted", "aten::bucketize", "aten::linspace",
      "aten::logspace", "aten::quantize_per_tensor", "aten::floor_divide", "aten::floor_divide_"};
  const std::string& name = op.operator_name().name;
  return op.hasTag(at::Tag::pointwise) || names.contains(name) || name.starts_with("aten::_foreach_") ||
         name.starts_with("aten::_fused_") || takes_host_tensors(name);
}

class Check {
 public:
  explicit Check(const c10::OperatorHandle& op) : op_(op) {}

  void visit(const at::Tensor& tensor, bool written) {
    if (!tensor.defined()) return;
    if (on_device(tensor)) {
      if (!device_) device_ = tensor.device();
      if (*device_ != tensor.device()) fail(*device_, tensor.device());
    } else if (written || tensor.dim() > 0) {
      if (!host_) host_ = tensor.device();
      host_written_ |= written;
    } else {
      host_scalar_ |= !tensor.unsafeGetTensorImpl()->is_wrapped_number();
    }
  }

  void visit(c10::Device device) {
    if (device.type() == kDeviceType) named_ = device_of(index_or_current(device));
  }

  c10::Device result() const {
    // With tensors of the host only, a generator of ours has led the call here.
    TORCH_CHECK(device_ || named_ || (!host_ && !host_scalar_), "Expected a 'cpu' device type for generator but found '",
                kDeviceType, "'");
    if (!device_) return named_.value_or(device_of(index_or_current(c10::Device(kDeviceType))));
    const bool tolerated = !host_written_ && takes_host_tensors(op_.operator_name().name);
    if (host_ && !tolerated) fail(*device_, *host_);
    if (host_scalar_ && !takes_host_scalars(op_)) fail(*device_, c10::Device(c10::kCPU));
    return *device_;
  }

 private:
  [[noreturn]] void fail(c10::Device a, c10::Device b) const {
    TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", a, " and ",
                b, "! (when calling ", op_.operator_name().name, ")");
  }

  const c10::OperatorHandle& op_;
  std::optional<c10::Device> device_;
  std::optional<c10::Device> host_;
  std::optional<c10::Device> named_;
  bool host_written_ = false;
  bool host_scalar_ = false;
};

}  // namespace

c10::Device common_device(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const auto values = torch::jit::last(stack, arguments.size());
  Check check(op);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool written = arguments[i].alias_info() != nullptr && arguments[i].alias_info()->isWrite();
    const c10::IValue& value = values[i];
    if (value.isTensor()) {
      check.visit(value.toTensor(), written);
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) check.visit(tensor, written);
    } else if (value.isOptionalTensorList()) {
      for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
        if (tensor) check.visit(*tensor, written);
      }
    } else if (value.isDevice()) {
      check.visit(value.toDevice());
    }
  }
  return check.result();
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
