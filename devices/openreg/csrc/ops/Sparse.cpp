// ATen/SparseTensorImpl.h, ATen/SparseCsrTensorImpl.h: sparse tensors, which have
// dispatch keys of their own. They run on the fallback throughout.
#include <ATen/ops/copy_native.h>
#include <ATen/ops/copy_sparse_to_sparse_native.h>
#include <torch/library.h>

#include "Claim.h"
#include "Fallback.h"

namespace openreg {
namespace {

using c10::DispatchKey;

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

}  // namespace
}  // namespace openreg
