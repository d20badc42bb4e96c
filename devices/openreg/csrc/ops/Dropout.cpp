// torch/library.h: dropout that draws from the device's generator.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <torch/library.h>

#include <tuple>

namespace openreg {
namespace {

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p, std::optional<bool> train) {
  const double kept = train.value_or(true) ? 1 - p : 1;
  at::Tensor mask = at::empty_like(input, input.options().dtype(at::kBool));
  mask.bernoulli_(kept);
  at::Tensor output = at::mul(input, mask);
  output.mul_(kept == 0 ? 0 : 1 / kept);
  return {output, mask};
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("native_dropout", TORCH_FN(native_dropout)); }

}  // namespace
}  // namespace openreg
