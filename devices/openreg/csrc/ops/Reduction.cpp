// ATen/TensorMeta.h: sums and means.
#include <ATen/ops/mean_cpu_dispatch.h>
#include <ATen/ops/mean_meta.h>
#include <ATen/ops/sum_cpu_dispatch.h>
#include <ATen/ops/sum_meta.h>

#include "Structured.h"

namespace openreg {
namespace {

using at::Scalar;
using at::Tensor;

// PyTorch notices an output that cannot hold the means in the arithmetic only,
// which is too late for a call that has already returned.
struct MeanShape : at::meta::structured_mean_dim {
  void meta(const Tensor& self, at::OptionalIntArrayRef dim, bool keepdim, std::optional<at::ScalarType> dtype) {
    at::meta::structured_mean_dim::meta(self, dim, keepdim, dtype);
    const at::ScalarType wanted = maybe_get_output().scalar_type();
    TORCH_CHECK(at::canCast(self.scalar_type(), wanted), "result type ", self.scalar_type(),
                " can't be cast to the desired output type ", wanted);
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  Structured<"sum.IntList_out", at::meta::structured_sum_dim_IntList,
             static_cast<OutKernel<const Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>>>(at::cpu::sum_out)>::register_in(m);
  Structured<"mean.out", MeanShape,
             static_cast<OutKernel<const Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>>>(at::cpu::mean_out)>::register_in(m);
}

}  // namespace
}  // namespace openreg
