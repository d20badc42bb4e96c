// torch/library.h: aten::empty and aten::empty_strided, which every other
// factory function is built on.
#include <ATen/EmptyTensor.h>
#include <ATen/native/TensorFactories.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "../Runtime.h"

namespace openreg {
namespace {

c10::Device checked_device(std::optional<at::Device> device, std::optional<bool> pin_memory) {
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  return device_of(existing(index_or_current(device.value_or(c10::Device(kDeviceType)))));
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                 std::optional<at::Device> device, std::optional<bool> pin_memory,
                 std::optional<at::MemoryFormat> memory_format) {
  TORCH_CHECK(layout.value_or(at::kStrided) == at::kStrided, "aten::empty on openreg makes strided tensors only");
  const c10::DeviceGuard guard(checked_device(device, pin_memory));
  return at::detail::empty_generic(size, c10::GetAllocator(kDeviceType),
                                   c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                   c10::dtype_or_default(dtype), memory_format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> layout, std::optional<at::Device> device,
                         std::optional<bool> pin_memory) {
  TORCH_CHECK(layout.value_or(at::kStrided) == at::kStrided, "aten::empty_strided on openreg makes strided tensors");
  const c10::DeviceGuard guard(checked_device(device, pin_memory));
  return at::detail::empty_strided_generic(size, stride, c10::GetAllocator(kDeviceType),
                                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                                           c10::dtype_or_default(dtype));
}

// Backward formulas use it for gradients that are zero everywhere: a tensor
// without memory, which must never reach a kernel.
at::Tensor efficient_zero_tensor(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
                                 std::optional<at::Layout>, std::optional<at::Device> device,
                                 std::optional<bool> pin_memory) {
  at::native::ZeroTensorAllocator allocator(checked_device(device, pin_memory));
  return at::detail::empty_generic(
      size, &allocator, c10::DispatchKeySet({c10::DispatchKey::PrivateUse1, c10::DispatchKey::ZeroTensor}),
      c10::dtype_or_default(dtype), std::nullopt);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_efficientzerotensor", TORCH_FN(efficient_zero_tensor));
  m.impl("empty.memory_format", TORCH_FN(empty));
  m.impl("empty_strided", TORCH_FN(empty_strided));
}

}  // namespace
}  // namespace openreg
