// torch/library.h: sparse, quantized and nested tensors, each of which has a
// dispatch key of its own. They run on the fallback throughout.
#include <ATen/NestedTensorImpl.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/copy_sparse_to_sparse_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <torch/library.h>

#include <set>
#include <string>

#include "Fallback.h"

namespace openreg {
namespace {

using c10::DispatchKey;

// PyTorch gives some operators a default for unknown devices that only raises
// ("expected sparse coordinate tensor layout"), and a default comes before a
// fallback. So where the CPU has a kernel for the layout, we claim the operator.
void claim(torch::Library& m, DispatchKey host) {
  // Copies cross devices, which the fallback refuses.
  static const std::set<std::string> excluded = {"aten::copy_", "aten::_copy_from", "aten::copy_sparse_to_sparse_",
                                                 "aten::_to_copy"};
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (!name.name.starts_with("aten::") || excluded.contains(name.name)) continue;
    const auto op = dispatcher.findOp(name);
    if (!op || !op->hasSchema() || !op->hasKernelForDispatchKey(host)) continue;
    m.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&fallback_any_layout>());
  }
}

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

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback_any_layout>()); }
TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m) {
  claim(m, DispatchKey::SparseCPU);
  m.impl("copy_", TORCH_FN(at::native::copy_sparse_wrapper_));
  m.impl("copy_sparse_to_sparse_", TORCH_FN(at::native::copy_sparse_));
}

TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback_any_layout>()); }
TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, m) {
  claim(m, DispatchKey::SparseCsrCPU);
  m.impl("copy_", TORCH_FN(at::native::copy_sparse_compressed_));
}

TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback_any_layout>()); }
TORCH_LIBRARY_IMPL(aten, QuantizedPrivateUse1, m) {
  claim(m, DispatchKey::QuantizedCPU);
  m.impl("_copy_from", TORCH_FN(copy_quantized));
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
