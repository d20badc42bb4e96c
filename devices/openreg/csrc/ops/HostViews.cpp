// c10/core/TensorImpl.h: CPU tensors over device memory, and the way back.
#include "HostViews.h"

#include <c10/core/CPUAllocator.h>

#include "Layouts.h"

namespace openreg {
namespace {

void drop_shared(void* context) { c10::raw::intrusive_ptr::decref(static_cast<c10::StorageImpl*>(context)); }

c10::Storage lay_over(const c10::Storage& storage, HostViews::Lifetime lifetime) {
  void* data = storage.mutable_data();
  c10::DataPtr pointer(data, c10::Device(c10::kCPU));
  if (lifetime == HostViews::Lifetime::kShared && data != nullptr) {
    c10::StorageImpl* impl = storage.unsafeGetStorageImpl();
    c10::raw::intrusive_ptr::incref(impl);
    pointer = c10::DataPtr(data, impl, drop_shared, c10::Device(c10::kCPU));
  }
  // Resizable, because kernels grow their `out` arguments.
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), storage.nbytes(),
                                                            std::move(pointer), c10::GetCPUAllocator(), true));
}

}  // namespace

bool on_device(const at::Tensor& tensor) { return tensor.defined() && tensor.device().type() == kDeviceType; }

at::Tensor detached_view(const at::Tensor& host) {
  return rebuild(
      host, {Side::kHost, [](const c10::Storage& storage) { return lay_over(storage, HostViews::Lifetime::kBorrowed); }, {}});
}

HostViews::Pair& HostViews::pair_for(const c10::Storage& storage, bool written) {
  for (Pair& pair : pairs_) {
    if (pair.device.unsafeGetStorageImpl() == storage.unsafeGetStorageImpl()) {
      pair.written |= written;
      return pair;
    }
  }
  pairs_.push_back({storage, lay_over(storage, lifetime_), storage.data(), storage.nbytes(), written});
  return pairs_.back();
}

at::Tensor HostViews::view(const at::Tensor& tensor, bool written) {
  return rebuild(tensor, {Side::kHost,
                          [&](const c10::Storage& storage) { return pair_for(storage, written).host; },
                          [&](const at::Tensor& member) { return view(member, written); }});
}

HostViews::Buffers HostViews::buffers() const {
  Buffers result;
  for (const Pair& pair : pairs_) {
    if (pair.bytes > 0) result.push_back({const_cast<void*>(pair.data), pair.bytes, pair.written ? 1 : 0});
  }
  return result;
}

void HostViews::bind(const c10::Storage& host, void* address) {
  c10::DataPtr& pointer = host.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks();
  const c10::DeleterFnPtr deleter = pointer.get_deleter();
  pointer = c10::DataPtr(address, pointer.release_context(), deleter, c10::Device(c10::kCPU));
}

void HostViews::bind_all(const Buffer* memory) const {
  for (const Pair& pair : pairs_) {
    if (pair.bytes > 0) bind(pair.host, (memory++)->ptr);
  }
}

void HostViews::unbind_all(const Buffer* memory) const {
  for (const Pair& pair : pairs_) {
    if (pair.bytes > 0 && pair.host.data() == (memory++)->ptr) bind(pair.host, const_cast<void*>(pair.data));
  }
}

HostViews::Pair* HostViews::pair_of(const c10::StorageImpl* host) {
  for (Pair& pair : pairs_) {
    if (pair.host.unsafeGetStorageImpl() == host) return &pair;
  }
  return nullptr;
}

}  // namespace openreg
