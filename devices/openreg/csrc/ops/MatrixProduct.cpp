// ATen/TensorMeta.h: matrix products.
#include <ATen/ops/addmm_cpu_dispatch.h>
#include <ATen/ops/addmm_meta.h>
#include <ATen/ops/baddbmm_cpu_dispatch.h>
#include <ATen/ops/baddbmm_meta.h>
#include <ATen/ops/bmm_cpu_dispatch.h>
#include <ATen/ops/bmm_meta.h>
#include <ATen/ops/mm_cpu_dispatch.h>
#include <ATen/ops/mm_meta.h>

#include "Structured.h"

namespace openreg {
namespace {

using at::Tensor;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  Structured<"mm.out", at::meta::structured_mm, at::cpu::mm_out>::register_in(m);
  Structured<"addmm.out", at::meta::structured_addmm, at::cpu::addmm_out>::register_in(m);
  Structured<"bmm.out", at::meta::structured_bmm, at::cpu::bmm_out>::register_in(m);
  Structured<"baddbmm.out", at::meta::structured_baddbmm, at::cpu::baddbmm_out>::register_in(m);
}

}  // namespace
}  // namespace openreg
