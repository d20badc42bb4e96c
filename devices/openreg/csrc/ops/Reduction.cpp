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

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  Structured<"sum.IntList_out", at::meta::structured_sum_dim_IntList,
             static_cast<OutKernel<const Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>>>(at::cpu::sum_out)>::register_in(m);
  Structured<"mean.out", at::meta::structured_mean_dim,
             static_cast<OutKernel<const Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>>>(at::cpu::mean_out)>::register_in(m);
}

}  // namespace
}  // namespace openreg
