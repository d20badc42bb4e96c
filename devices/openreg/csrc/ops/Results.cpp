// c10/core/StorageImpl.h: from host memory into fresh device storages.
#include "Results.h"

#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>

#include <cstring>

#include "Launch.h"
#include "Layouts.h"

namespace openreg {

void upload_into(const char* name, const c10::Storage& target, const c10::Storage& host) {
  if (host.nbytes() == 0) return;
  HostViews views(HostViews::Lifetime::kBorrowed);
  const c10::Storage& view = views.storage(target, true);
  launch_inline(name, target.device().index(), views,
                [&] { std::memcpy(view.mutable_data(), host.data(), host.nbytes()); });
}

c10::Storage upload(const char* name, const c10::Storage& host, c10::Device device) {
  const c10::DeviceGuard guard(device);
  c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), host.nbytes(),
                                                             c10::GetAllocator(kDeviceType), true));
  upload_into(name, storage, host);
  return storage;
}

at::Tensor to_device(const at::Tensor& host, c10::Device device) {
  if (!host.defined()) return host;
  return rebuild(host, {Side::kDevice, [&](const c10::Storage& storage) { return upload("result", storage, device); },
                        [&](const at::Tensor& member) { return to_device(member, device); }});
}

}  // namespace openreg
