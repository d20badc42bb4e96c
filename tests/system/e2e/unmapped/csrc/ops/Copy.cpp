// torch/library.h: aten::_copy_from, behind copy_, to, cpu and clone, and the
// transfer of single values to the host.
#include <ATen/native/Resize.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include "HostViews.h"
#include "Launch.h"

namespace mydevice {
namespace {

// Same layout, type and bits: the bytes can travel as they are.
bool is_plain(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.is_non_overlapping_and_dense() && a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

// Host and device, either way.
void copy_with_host(const at::Tensor& src, const at::Tensor& dst) {
  const at::Tensor& device_side = on_device(dst) ? dst : src;
  const at::Tensor& host_side = on_device(dst) ? src : dst;
  if (is_plain(src, dst)) {
    copy_now(dst.mutable_data_ptr(), src.const_data_ptr(), src.nbytes(), device_side.device().index());
    return;
  }
  // The copies of launch_inline are converted and gathered by the CPU.
  HostViews views(HostViews::Lifetime::kBorrowed);
  const at::Tensor on_dev = views.view(device_side, on_device(dst));
  launch_inline("copy_", device_side.device().index(), views,
                [&] { on_device(dst) ? on_dev.copy_(host_side) : host_side.copy_(on_dev); });
}

void copy_on_device(const at::Tensor& src, const at::Tensor& dst) {
  HostViews views(HostViews::Lifetime::kBorrowed);
  const at::Tensor to = views.view(dst, true);
  const at::Tensor from = views.view(src, false);
  launch_inline("copy_", src.device().index(), views, [&] { to.copy_(from); });
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool) {
  if (dst.numel() == 0) return dst;
  const at::Tensor src = self.sizes() == dst.sizes() ? self : self.expand(dst.sizes());
  if (on_device(src) && on_device(dst)) {
    copy_on_device(src, dst);
  } else {
    TORCH_CHECK(src.is_cpu() || dst.is_cpu(), "cannot copy from ", src.device(), " to ", dst.device());
    copy_with_host(src, dst);
  }
  return dst;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  at::native::resize_output(dst, self.sizes());
  return copy_from(self, dst, false);
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  const at::Tensor host = at::empty({}, self.options().device(at::kCPU));
  copy_with_host(self.dim() == 0 ? self : self.reshape({}), host);
  return at::_local_scalar_dense(host);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_copy_from", TORCH_FN(copy_from));
  m.impl("_copy_from_and_resize", TORCH_FN(copy_from_and_resize));
  m.impl("_local_scalar_dense", TORCH_FN(local_scalar_dense));
}

// The copy understands the lazy bits itself. Without these lines PyTorch would
// materialise the source first, which needs a copy, which needs this operator:
// an endless recursion.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
  m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
  m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

}  // namespace
}  // namespace mydevice
