// ATen/NestedTensorImpl.h: nested tensors, which have a dispatch key of their own.
// They run on the fallback throughout.
#include <ATen/NestedTensorImpl.h>
#include <ATen/ops/equal.h>
#include <torch/library.h>

#include "Claim.h"
#include "Fallback.h"

namespace openreg {
namespace {

using c10::DispatchKey;

at::native::NestedTensorImpl* nested_impl(const at::Tensor& tensor) {
  return static_cast<at::native::NestedTensorImpl*>(tensor.unsafeGetTensorImpl());
}

at::Tensor& copy_nested(at::Tensor& self, const at::Tensor& src, bool non_blocking) {
  TORCH_CHECK(src.is_nested(), "copy_ into a nested tensor needs a nested tensor");
  TORCH_CHECK(at::equal(nested_impl(self)->get_nested_sizes(), nested_impl(src)->get_nested_sizes()) &&
                  at::equal(nested_impl(self)->get_nested_strides(), nested_impl(src)->get_nested_strides()),
              "copy_ needs nested tensors of equal sizes and strides");
  nested_impl(self)->get_unsafe_storage_as_tensor().copy_(nested_impl(src)->get_unsafe_storage_as_tensor(),
                                                          non_blocking);
  return self;
}

TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback_any_layout>());
}
TORCH_LIBRARY_IMPL(aten, NestedTensorPrivateUse1, m) {
  claim(m, DispatchKey::NestedTensorCPU);
  m.impl("copy_", TORCH_FN(copy_nested));
}

}  // namespace
}  // namespace openreg
