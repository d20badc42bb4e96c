// ATen/TensorMeta.h: element by element arithmetic.
#include <ATen/ops/add_cpu_dispatch.h>
#include <ATen/ops/add_meta.h>
#include <ATen/ops/addcdiv_cpu_dispatch.h>
#include <ATen/ops/addcdiv_meta.h>
#include <ATen/ops/addcmul_cpu_dispatch.h>
#include <ATen/ops/addcmul_meta.h>
#include <ATen/ops/cos_cpu_dispatch.h>
#include <ATen/ops/cos_meta.h>
#include <ATen/ops/div_cpu_dispatch.h>
#include <ATen/ops/div_meta.h>
#include <ATen/ops/exp_cpu_dispatch.h>
#include <ATen/ops/exp_meta.h>
#include <ATen/ops/lerp_cpu_dispatch.h>
#include <ATen/ops/lerp_meta.h>
#include <ATen/ops/log_cpu_dispatch.h>
#include <ATen/ops/log_meta.h>
#include <ATen/ops/maximum_cpu_dispatch.h>
#include <ATen/ops/maximum_meta.h>
#include <ATen/ops/minimum_cpu_dispatch.h>
#include <ATen/ops/minimum_meta.h>
#include <ATen/ops/mul_cpu_dispatch.h>
#include <ATen/ops/mul_meta.h>
#include <ATen/ops/neg_cpu_dispatch.h>
#include <ATen/ops/neg_meta.h>
#include <ATen/ops/pow_cpu_dispatch.h>
#include <ATen/ops/pow_meta.h>
#include <ATen/ops/reciprocal_cpu_dispatch.h>
#include <ATen/ops/reciprocal_meta.h>
#include <ATen/ops/rsqrt_cpu_dispatch.h>
#include <ATen/ops/rsqrt_meta.h>
#include <ATen/ops/sigmoid_cpu_dispatch.h>
#include <ATen/ops/sigmoid_meta.h>
#include <ATen/ops/sin_cpu_dispatch.h>
#include <ATen/ops/sin_meta.h>
#include <ATen/ops/sqrt_cpu_dispatch.h>
#include <ATen/ops/sqrt_meta.h>
#include <ATen/ops/sub_cpu_dispatch.h>
#include <ATen/ops/sub_meta.h>
#include <ATen/ops/tanh_cpu_dispatch.h>
#include <ATen/ops/tanh_meta.h>

#include "Structured.h"

namespace openreg {
namespace {

using at::Scalar;
using at::Tensor;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  // two operands
  Structured<"add.out", at::meta::structured_add_Tensor, at::cpu::add_out>::register_in(m);
  Structured<"sub.out", at::meta::structured_sub_Tensor, at::cpu::sub_out>::register_in(m);
  Structured<"mul.out", at::meta::structured_mul_Tensor, at::cpu::mul_out>::register_in(m);
  Structured<"div.out", at::meta::structured_div_Tensor,
             static_cast<OutKernel<const Tensor&, const Tensor&>>(at::cpu::div_out)>::register_in(m);
  Structured<"maximum.out", at::meta::structured_maximum, at::cpu::maximum_out>::register_in(m);
  Structured<"minimum.out", at::meta::structured_minimum, at::cpu::minimum_out>::register_in(m);
  Structured<"pow.Tensor_Scalar_out", at::meta::structured_pow_Tensor_Scalar,
             static_cast<OutKernel<const Tensor&, const Scalar&>>(at::cpu::pow_out)>::register_in(m);
  // one operand
  Structured<"neg.out", at::meta::structured_neg, at::cpu::neg_out>::register_in(m);
  Structured<"reciprocal.out", at::meta::structured_reciprocal, at::cpu::reciprocal_out>::register_in(m);
  Structured<"sqrt.out", at::meta::structured_sqrt, at::cpu::sqrt_out>::register_in(m);
  Structured<"rsqrt.out", at::meta::structured_rsqrt, at::cpu::rsqrt_out>::register_in(m);
  Structured<"exp.out", at::meta::structured_exp, at::cpu::exp_out>::register_in(m);
  Structured<"log.out", at::meta::structured_log, at::cpu::log_out>::register_in(m);
  Structured<"sin.out", at::meta::structured_sin, at::cpu::sin_out>::register_in(m);
  Structured<"cos.out", at::meta::structured_cos, at::cpu::cos_out>::register_in(m);
  Structured<"tanh.out", at::meta::structured_tanh, at::cpu::tanh_out>::register_in(m);
  Structured<"sigmoid.out", at::meta::structured_sigmoid, at::cpu::sigmoid_out>::register_in(m);
  // three operands
  Structured<"addcmul.out", at::meta::structured_addcmul, at::cpu::addcmul_out>::register_in(m);
  Structured<"addcdiv.out", at::meta::structured_addcdiv, at::cpu::addcdiv_out>::register_in(m);
  Structured<"lerp.Scalar_out", at::meta::structured_lerp_Scalar,
             static_cast<OutKernel<const Tensor&, const Tensor&, const Scalar&>>(at::cpu::lerp_out)>::register_in(m);
}

}  // namespace
}  // namespace openreg
