// ATen/TensorMeta.h: activation functions and their gradients.
#include <ATen/ops/_log_softmax_cpu_dispatch.h>
#include <ATen/ops/_log_softmax_meta.h>
#include <ATen/ops/_log_softmax_backward_data_cpu_dispatch.h>
#include <ATen/ops/_log_softmax_backward_data_meta.h>
#include <ATen/ops/_softmax_cpu_dispatch.h>
#include <ATen/ops/_softmax_meta.h>
#include <ATen/ops/_softmax_backward_data_cpu_dispatch.h>
#include <ATen/ops/_softmax_backward_data_meta.h>
#include <ATen/ops/gelu_cpu_dispatch.h>
#include <ATen/ops/gelu_meta.h>
#include <ATen/ops/gelu_backward_cpu_dispatch.h>
#include <ATen/ops/gelu_backward_meta.h>
#include <ATen/ops/sigmoid_backward_cpu_dispatch.h>
#include <ATen/ops/sigmoid_backward_meta.h>
#include <ATen/ops/silu_cpu_dispatch.h>
#include <ATen/ops/silu_meta.h>
#include <ATen/ops/silu_backward_cpu_dispatch.h>
#include <ATen/ops/silu_backward_meta.h>
#include <ATen/ops/tanh_backward_cpu_dispatch.h>
#include <ATen/ops/tanh_backward_meta.h>
#include <ATen/ops/threshold_backward_cpu_dispatch.h>
#include <ATen/ops/threshold_backward_meta.h>

#include <ATen/native/Gelu.h>

#include "Structured.h"

namespace openreg {
namespace {

using at::Tensor;

// PyTorch looks at the name of the approximation in the arithmetic only, which
// is too late for a call that has already returned.
struct GeluShape : at::meta::structured_gelu {
  void meta(const Tensor& self, c10::string_view approximate) {
    at::native::get_gelutype_enum(approximate);
    at::meta::structured_gelu::meta(self, approximate);
  }
};

struct GeluBackwardShape : at::meta::structured_gelu_backward {
  void meta(const Tensor& gradient, const Tensor& self, c10::string_view approximate) {
    at::native::get_gelutype_enum(approximate);
    at::meta::structured_gelu_backward::meta(gradient, self, approximate);
  }
};

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  // pointwise
  Structured<"threshold_backward.grad_input", at::meta::structured_threshold_backward,
             at::cpu::threshold_backward_out>::register_in(m);
  Structured<"gelu.out", GeluShape, at::cpu::gelu_out>::register_in(m);
  Structured<"gelu_backward.grad_input", GeluBackwardShape, at::cpu::gelu_backward_out>::register_in(m);
  Structured<"silu.out", at::meta::structured_silu, at::cpu::silu_out>::register_in(m);
  Structured<"silu_backward.grad_input", at::meta::structured_silu_backward,
             at::cpu::silu_backward_out>::register_in(m);
  Structured<"tanh_backward.grad_input", at::meta::structured_tanh_backward,
             at::cpu::tanh_backward_out>::register_in(m);
  Structured<"sigmoid_backward.grad_input", at::meta::structured_sigmoid_backward,
             at::cpu::sigmoid_backward_out>::register_in(m);
  // along a dimension
  Structured<"_softmax.out", at::meta::structured__softmax, at::cpu::_softmax_out>::register_in(m);
  Structured<"_softmax_backward_data.out", at::meta::structured__softmax_backward_data,
             at::cpu::_softmax_backward_data_out>::register_in(m);
  Structured<"_log_softmax.out", at::meta::structured__log_softmax, at::cpu::_log_softmax_out>::register_in(m);
  Structured<"_log_softmax_backward_data.out", at::meta::structured__log_softmax_backward_data,
             at::cpu::_log_softmax_backward_data_out>::register_in(m);
}

}  // namespace
}  // namespace openreg
