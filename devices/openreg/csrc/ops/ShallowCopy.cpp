// c10/core/TensorImpl.h, has_compatible_shallow_copy_type: may `tensor.data = other`
// put a tensor of ours in the place of a host tensor, and the other way round?
//
// PyTorch's own answer leaves PrivateUse1 out, so Module.to() would make new
// Parameters, and an optimizer built before it would train the old ones. Our
// tensors are plain TensorImpls, which can take each other's place.
#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace openreg {
namespace {

// The same class of TensorImpl; the device does not matter.
bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  return self.layout() == from.layout() && self.is_nested() == from.is_nested() &&
         self.is_quantized() == from.is_quantized();
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_has_compatible_shallow_copy_type", TORCH_FN(has_compatible_shallow_copy_type));
}

}  // namespace
}  // namespace openreg
