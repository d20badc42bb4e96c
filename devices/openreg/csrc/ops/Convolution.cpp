// torch/library.h: convolution. PyTorch sends devices that it does not know to
// the two "overrideable" operators, which exist for nothing else.
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include "HostViews.h"
#include "Launch.h"
#include "Results.h"

namespace openreg {
namespace {

at::Tensor optional_view(HostViews& views, const std::optional<at::Tensor>& tensor) {
  return tensor && tensor->defined() ? views.view(*tensor, false) : at::Tensor();
}

void check_together(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.device() == b.device(), "Expected all tensors to be on the same device, but found at least two devices, ",
              a.device(), " and ", b.device(), "! (when calling convolution)");
}

at::Tensor convolution(const at::Tensor& input, const at::Tensor& weight, const std::optional<at::Tensor>& bias,
                       c10::SymIntArrayRef stride, c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation,
                       bool transposed, c10::SymIntArrayRef output_padding, c10::SymInt groups) {
  check_together(input, weight);
  if (bias && bias->defined()) check_together(input, *bias);
  HostViews views(HostViews::Lifetime::kShared);
  const at::Tensor x = views.view(input, false);
  const at::Tensor w = views.view(weight, false);
  const at::Tensor b = optional_view(views, bias);
  at::Tensor result;
  launch_inline("aten::convolution", input.device().index(), views, [&] {
    result = at::convolution_symint(x, w, b, stride, padding, dilation, transposed, output_padding, groups);
  });
  return to_device(result, input.device());
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> convolution_backward(
    const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight, c10::SymIntArrayRef stride,
    c10::SymIntArrayRef padding, c10::SymIntArrayRef dilation, bool transposed, c10::SymIntArrayRef output_padding,
    c10::SymInt groups, std::array<bool, 3> mask) {
  check_together(input, weight);
  check_together(input, grad_output);
  HostViews views(HostViews::Lifetime::kShared);
  const at::Tensor g = views.view(grad_output, false);
  const at::Tensor x = views.view(input, false);
  const at::Tensor w = views.view(weight, false);
  const std::vector<c10::SymInt> bias_sizes = {weight.sym_size(transposed ? 1 : 0) * (transposed ? groups : 1)};
  std::tuple<at::Tensor, at::Tensor, at::Tensor> grads;
  launch_inline("aten::convolution_backward", input.device().index(), views, [&] {
    grads = at::convolution_backward_symint(g, x, w, c10::SymIntArrayRef(bias_sizes), stride, padding, dilation,
                                            transposed, output_padding, groups, mask);
  });
  const c10::Device device = input.device();
  return {to_device(std::get<0>(grads), device), to_device(std::get<1>(grads), device),
          to_device(std::get<2>(grads), device)};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("convolution_overrideable", TORCH_FN(convolution));
  m.impl("convolution_backward_overrideable", TORCH_FN(convolution_backward));
}

}  // namespace
}  // namespace openreg
