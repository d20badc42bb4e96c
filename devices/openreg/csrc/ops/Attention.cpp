// torch/library.h: scaled dot product attention. PyTorch asks the device which
// algorithm it wants, and leaves it the two "overrideable" operators.
#include <ATen/SDPBackend.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <torch/library.h>

#include "HostViews.h"
#include "Launch.h"
#include "Results.h"

namespace openreg {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

int as_int(at::SDPBackend backend) { return static_cast<int>(backend); }

// The simulated compute unit is the CPU: where that has a fused kernel for
// these shapes, so have we.
int64_t choose(const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& mask, double dropout,
               bool is_causal, std::optional<double> scale, bool enable_gqa) {
  HostViews views(HostViews::Lifetime::kShared);
  auto view = [&](const Tensor& tensor) {
    Tensor result = views.view(tensor, false);
    // The choice depends on whether a gradient will be needed.
    if (tensor.requires_grad()) result.unsafeGetTensorImpl()->set_requires_grad(true);
    return result;
  };
  const OptionalTensor host_mask = mask && mask->defined() ? OptionalTensor(view(*mask)) : std::nullopt;
  const int64_t host = at::_fused_sdp_choice(view(query), view(key), view(value), host_mask, dropout, is_causal, scale,
                                             enable_gqa);
  return host == as_int(at::SDPBackend::flash_attention) ? as_int(at::SDPBackend::overrideable)
                                                         : as_int(at::SDPBackend::math);
}

using Forward = std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;

Forward attention(const Tensor& query, const Tensor& key, const Tensor& value, const OptionalTensor& bias,
                  double dropout, bool is_causal, bool, std::optional<double> scale) {
  HostViews views(HostViews::Lifetime::kShared);
  const Tensor q = views.view(query, false);
  const Tensor k = views.view(key, false);
  const Tensor v = views.view(value, false);
  const OptionalTensor mask = bias && bias->defined() ? OptionalTensor(views.view(*bias, false)) : std::nullopt;
  std::tuple<Tensor, Tensor> result;
  launch_inline("aten::scaled_dot_product_attention", query.device().index(), views, [&] {
    result = at::_scaled_dot_product_flash_attention_for_cpu(q, k, v, dropout, is_causal, mask, scale);
  });
  const c10::Device device = query.device();
  // Sequence lengths and random seeds are for kernels that pack or drop.
  return {to_device(std::get<0>(result), device), to_device(std::get<1>(result), device), Tensor(), Tensor(),
          query.sym_size(2), key.sym_size(2), Tensor(), Tensor(), Tensor()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(
    const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias,
    std::array<bool, 4> grad_input_mask, const Tensor& out, const Tensor& logsumexp, const Tensor&, const Tensor&,
    c10::SymInt, c10::SymInt, double dropout, bool is_causal, const Tensor&, const Tensor&,
    std::optional<double> scale) {
  TORCH_CHECK(!grad_input_mask[3], "openreg's fused attention has no gradient for the mask");
  HostViews views(HostViews::Lifetime::kShared);
  const Tensor g = views.view(grad_out, false);
  const Tensor q = views.view(query, false);
  const Tensor k = views.view(key, false);
  const Tensor v = views.view(value, false);
  const Tensor o = views.view(out, false);
  const Tensor lse = views.view(logsumexp, false);
  const OptionalTensor mask = bias.defined() ? OptionalTensor(views.view(bias, false)) : std::nullopt;
  std::tuple<Tensor, Tensor, Tensor> grads;
  launch_inline("aten::scaled_dot_product_attention_backward", query.device().index(), views, [&] {
    grads = at::_scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, o, lse, dropout, is_causal, mask,
                                                                     scale);
  });
  const c10::Device device = query.device();
  return {to_device(std::get<0>(grads), device), to_device(std::get<1>(grads), device),
          to_device(std::get<2>(grads), device), Tensor()};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fused_sdp_choice", TORCH_FN(choose));
  m.impl("_scaled_dot_product_fused_attention_overrideable", TORCH_FN(attention));
  m.impl("_scaled_dot_product_fused_attention_overrideable_backward", TORCH_FN(attention_backward));
}

}  // namespace
}  // namespace openreg

namespace at::native {
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &openreg::choose)
}  // namespace at::native
