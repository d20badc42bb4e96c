// ATen/TensorMeta.h: comparisons, with a number and with a tensor.
#include <ATen/ops/eq_cpu_dispatch.h>
#include <ATen/ops/eq_meta.h>
#include <ATen/ops/ge_cpu_dispatch.h>
#include <ATen/ops/ge_meta.h>
#include <ATen/ops/gt_cpu_dispatch.h>
#include <ATen/ops/gt_meta.h>
#include <ATen/ops/le_cpu_dispatch.h>
#include <ATen/ops/le_meta.h>
#include <ATen/ops/lt_cpu_dispatch.h>
#include <ATen/ops/lt_meta.h>
#include <ATen/ops/ne_cpu_dispatch.h>
#include <ATen/ops/ne_meta.h>

#include "Structured.h"

namespace openreg {
namespace {

using at::Scalar;
using at::Tensor;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  Structured<"eq.Scalar_out", at::meta::structured_eq_Scalar,
             static_cast<OutKernel<const Tensor&, const Scalar&>>(at::cpu::eq_out)>::register_in(m);
  Structured<"eq.Tensor_out", at::meta::structured_eq_Tensor,
             static_cast<OutKernel<const Tensor&, const Tensor&>>(at::cpu::eq_out)>::register_in(m);
  Structured<"ne.Scalar_out", at::meta::structured_ne_Scalar,
             static_cast<OutKernel<const Tensor&, const Scalar&>>(at::cpu::ne_out)>::register_in(m);
  Structured<"ne.Tensor_out", at::meta::structured_ne_Tensor,
             static_cast<OutKernel<const Tensor&, const Tensor&>>(at::cpu::ne_out)>::register_in(m);
  Structured<"lt.Scalar_out", at::meta::structured_lt_Scalar,
             static_cast<OutKernel<const Tensor&, const Scalar&>>(at::cpu::lt_out)>::register_in(m);
  Structured<"lt.Tensor_out", at::meta::structured_lt_Tensor,
             static_cast<OutKernel<const Tensor&, const Tensor&>>(at::cpu::lt_out)>::register_in(m);
  Structured<"le.Scalar_out", at::meta::structured_le_Scalar,
             static_cast<OutKernel<const Tensor&, const Scalar&>>(at::cpu::le_out)>::register_in(m);
  Structured<"le.Tensor_out", at::meta::structured_le_Tensor,
             static_cast<OutKernel<const Tensor&, const Tensor&>>(at::cpu::le_out)>::register_in(m);
  Structured<"gt.Scalar_out", at::meta::structured_gt_Scalar,
             static_cast<OutKernel<const Tensor&, const Scalar&>>(at::cpu::gt_out)>::register_in(m);
  Structured<"gt.Tensor_out", at::meta::structured_gt_Tensor,
             static_cast<OutKernel<const Tensor&, const Tensor&>>(at::cpu::gt_out)>::register_in(m);
  Structured<"ge.Scalar_out", at::meta::structured_ge_Scalar,
             static_cast<OutKernel<const Tensor&, const Scalar&>>(at::cpu::ge_out)>::register_in(m);
  Structured<"ge.Tensor_out", at::meta::structured_ge_Tensor,
             static_cast<OutKernel<const Tensor&, const Tensor&>>(at::cpu::ge_out)>::register_in(m);
}

}  // namespace
}  // namespace openreg
