// c10/core/Device.h: the check that a silent fallback to the CPU would lose.
//
// Throws the error that every other accelerator gives when host and device
// tensors, or two devices, are mixed; as there, a zero-dimensional host tensor
// may stand for a number in pointwise operators.
#include <string_view>
#include <unordered_set>

#include "ArgumentDevices.h"

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

[[noreturn]] void refuse(const c10::OperatorHandle& op, c10::Device a, c10::Device b) {
  TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", a, " and ", b,
              "! (when calling ", op.operator_name().name, ")");
}

void check_devices(const c10::OperatorHandle& op, const ArgumentDevices& found) {
  // With tensors of the host only, a generator of ours has led the call here.
  TORCH_CHECK(found.device || found.named || (!found.host && !found.host_scalar),
              "Expected a 'cpu' device type for generator but found '", kDeviceType, "'");
  if (!found.device) return;
  if (found.second) refuse(op, *found.device, *found.second);
  const bool tolerated = !found.host_written && takes_host_tensors(op.operator_name().name);
  if (found.host && !tolerated) refuse(op, *found.device, *found.host);
  if (found.host_scalar && !takes_host_scalars(op)) refuse(op, *found.device, c10::Device(c10::kCPU));
}

struct RuleRegistration {
  RuleRegistration() { set_device_rule(check_devices); }
} rule_registration;

}  // namespace
}  // namespace openreg
