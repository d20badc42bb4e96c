// ATen/quantized/QTensorImpl.h: quantized tensors, which have a dispatch key of
// their own. They run on the fallback throughout.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "Claim.h"
#include "Fallback.h"

namespace openreg {
namespace {

using c10::DispatchKey;

// The integers under a quantized tensor, with its geometry.
at::Tensor integers_of(const at::Tensor& tensor) {
  const at::ScalarType type = c10::toUnderlying(tensor.scalar_type());
  at::Tensor result = at::empty({0}, tensor.options().dtype(type));
  return result.set_(tensor.storage(), tensor.storage_offset(), tensor.sizes(), tensor.strides());
}

at::Tensor copy_quantized(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  TORCH_CHECK(self.is_quantized() && dst.is_quantized(), "quantized tensors copy to and from quantized ones only");
  integers_of(dst).copy_(integers_of(self), non_blocking);
  return dst;
}

TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback_any_layout>()); }
TORCH_LIBRARY_IMPL(aten, QuantizedPrivateUse1, m) {
  claim(m, DispatchKey::QuantizedCPU);
  m.impl("_copy_from", TORCH_FN(copy_quantized));
}

}  // namespace
}  // namespace openreg
