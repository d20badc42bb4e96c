// torch/library.h: scaled dot product attention. PyTorch asks the device which
// algorithm it wants, and leaves it the two "overrideable" operators.
#include <ATen/OpMathType.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/DispatchStub.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/ops/_fused_sdp_choice.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/ones.h>
#include <torch/library.h>

#include <cmath>

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
  // torch.compile asks with tensors that have no memory.
  if (query.unsafeGetTensorImpl()->is_python_dispatch()) return as_int(at::SDPBackend::math);
  HostViews views(HostViews::Lifetime::kShared);
  auto view = [&](const Tensor& tensor) {
    Tensor result = views.view(tensor, false);
    // The choice depends on whether a gradient will be needed.
    if (tensor.requires_grad()) result.unsafeGetTensorImpl()->set_requires_grad(true);
    return result;
  };
  // The CPU's kernel has no gradient for the mask, and ours has.
  const OptionalTensor host_mask =
      mask && mask->defined() ? OptionalTensor(views.view(*mask, false)) : std::nullopt;
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

// The gradient of the mask, which is added to the scores: theirs, summed over
// the dimensions in which the mask was broadcast. In the precision in which the
// kernel accumulates.
Tensor mask_gradient(const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
                     const Tensor& mask, const Tensor& out, const Tensor& logsumexp, bool is_causal,
                     std::optional<double> scale) {
  const at::ScalarType wide = at::toOpMathType(query.scalar_type());
  const auto widened = [wide](const Tensor& tensor) { return tensor.to(wide); };
  const Tensor g = widened(grad_out);
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
  Tensor scores = widened(query).matmul(widened(key).transpose(-2, -1)).mul_(factor).add_(widened(mask));
  if (is_causal) {
    scores.masked_fill_(at::ones(scores.sizes().slice(2), at::kBool).tril_().logical_not_(), -INFINITY);
  }
  const Tensor weights = scores.sub_(widened(logsumexp).unsqueeze(-1)).exp_();
  const Tensor grad_weights = g.matmul(widened(value).transpose(-2, -1));
  const Tensor grad_scores = grad_weights.sub_(g.mul(widened(out)).sum(-1, true)).mul_(weights);
  // A row that hides everything has no weights.
  return grad_scores.masked_fill_(logsumexp.isinf().unsqueeze(-1), 0).sum_to_size(mask.sizes()).to(mask.scalar_type());
}

std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(
    const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& bias,
    std::array<bool, 4> grad_input_mask, const Tensor& out, const Tensor& logsumexp, const Tensor&, const Tensor&,
    c10::SymInt, c10::SymInt, double dropout, bool is_causal, const Tensor&, const Tensor&,
    std::optional<double> scale) {
  HostViews views(HostViews::Lifetime::kShared);
  const Tensor g = views.view(grad_out, false);
  const Tensor q = views.view(query, false);
  const Tensor k = views.view(key, false);
  const Tensor v = views.view(value, false);
  const Tensor o = views.view(out, false);
  const Tensor lse = views.view(logsumexp, false);
  const OptionalTensor mask = bias.defined() ? OptionalTensor(views.view(bias, false)) : std::nullopt;
  std::tuple<Tensor, Tensor, Tensor> grads;
  Tensor grad_mask;
  launch_inline("aten::scaled_dot_product_attention_backward", query.device().index(), views, [&] {
    grads = at::_scaled_dot_product_flash_attention_for_cpu_backward(g, q, k, v, o, lse, dropout, is_causal, mask,
                                                                     scale);
    if (grad_input_mask[3] && mask) grad_mask = mask_gradient(g, q, k, v, *mask, o, lse, is_causal, scale);
  });
  const c10::Device device = query.device();
  return {to_device(std::get<0>(grads), device), to_device(std::get<1>(grads), device),
          to_device(std::get<2>(grads), device), to_device(grad_mask, device)};
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
