// torch/library.h: aten::_copy_from, behind copy_, to, cpu and clone, and the
// transfer of single values to the host.
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include "../Streams.h"
#include "HostViews.h"
#include "Launch.h"

namespace openreg {
namespace {

// Same layout, type and bits: the bytes can travel as they are.
bool is_plain(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.is_non_overlapping_and_dense() && a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

bool is_pinned(const at::Tensor& tensor) {
  sim_memory_kind kind = SIM_MEMORY_OTHER;
  int device = -1;
  check(sim_pointer_info(tensor.storage().data(), &kind, &device));
  return kind == SIM_MEMORY_PINNED;
}

// Makes the pinned allocator wait for the copy before it reuses the block.
void keep_pinned(const at::Tensor& host, c10::Stream stream) {
  const c10::DataPtr& data = host.storage().data_ptr();
  at::getHostAllocator(kDeviceType)->record_event(data.get(), data.get_context(), stream);
}

// Host and device, either way. Only pinned memory may be used after the call.
void copy_with_host(const at::Tensor& src, const at::Tensor& dst, bool non_blocking) {
  const at::Tensor& device_side = on_device(dst) ? dst : src;
  const at::Tensor& host_side = on_device(dst) ? src : dst;
  const c10::DeviceIndex device = device_side.device().index();
  const bool asynchronous = non_blocking && is_pinned(host_side);
  const c10::Stream stream = current_stream(device);
  if (is_plain(src, dst)) {
    if (asynchronous) {
      check(sim_memcpy_async(dst.mutable_data_ptr(), src.const_data_ptr(), src.nbytes(), handle_of(stream)));
    } else {
      copy_now(dst.mutable_data_ptr(), src.const_data_ptr(), src.nbytes(), device);
    }
  } else {
    // Conversion and gathering happen on the device, as part of the copy.
    HostViews views(HostViews::Lifetime::kBorrowed);
    const at::Tensor on_dev = views.view(device_side, on_device(dst));
    const at::Tensor host = asynchronous ? detached_view(host_side) : host_side;
    auto body = [on_dev, host, to_device = on_device(dst)] { to_device ? on_dev.copy_(host) : host.copy_(on_dev); };
    if (asynchronous) {
      launch("copy_", device, views, std::move(body));
    } else {
      launch_inline("copy_", device, views, std::move(body));
    }
  }
  if (asynchronous) keep_pinned(host_side, stream);
}

void copy_on_device(const at::Tensor& src, const at::Tensor& dst) {
  const c10::DeviceIndex source = src.device().index();
  const c10::DeviceIndex target = dst.device().index();
  sim_event* ready = nullptr;
  if (source != target) {
    // The target's block may still be in use by earlier work of its stream.
    check(sim_event_create(target, 0, &ready));
    check(sim_event_record(ready, current_handle(target)));
    check(sim_stream_wait_event(current_handle(source), ready));
    check(sim_event_destroy(ready));
  }
  HostViews views(HostViews::Lifetime::kBorrowed);
  const at::Tensor to = views.view(dst, true);
  const at::Tensor from = views.view(src, false);
  launch("copy_", source, views, [to, from] { to.copy_(from); });
  if (source != target) {
    check(sim_event_create(source, 0, &ready));
    check(sim_event_record(ready, current_handle(source)));
    check(sim_stream_wait_event(current_handle(target), ready));
    check(sim_event_destroy(ready));
  }
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  if (dst.numel() == 0) return dst;
  const at::Tensor src = self.sizes() == dst.sizes() ? self : self.expand(dst.sizes());
  if (on_device(src) && on_device(dst)) {
    copy_on_device(src, dst);
  } else {
    TORCH_CHECK(src.is_cpu() || dst.is_cpu(), "cannot copy from ", src.device(), " to ", dst.device());
    copy_with_host(src, dst, non_blocking);
  }
  return dst;
}

at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  at::native::resize_output(dst, self.sizes());
  return copy_from(self, dst, false);
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  const at::Tensor host = at::empty({}, self.options().device(at::kCPU));
  copy_with_host(self.dim() == 0 ? self : self.reshape({}), host, false);
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
}  // namespace openreg
