// c10/core/StorageImpl.h: storages that several processes use, for
// torch_openreg/startup/multiprocessing.py.
//
// Thread safety: stateless; the pool locks.
#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>

#include <tuple>

#include "Bindings.h"
#include "Runtime.h"
#include "Streams.h"

namespace openreg {
namespace {

// What goes to another process: a descriptor, the device, and where the storage
// is in the file. All work on the device is done then, so that the receiver need
// not wait for a stream that it does not know.
using Message = std::tuple<int, int, uint64_t, uint64_t>;

Message share(const at::Storage& storage) {
  TORCH_CHECK(storage.device_type() == kDeviceType, "only storages on openreg are shared here");
  check(sim_device_synchronize(storage.device().index()));
  sim_share share{};
  // Only the pool knows what is its own: the storage may be over memory that came by DLPack.
  check(sim_pool_share(storage.mutable_data(), &share));
  return {share.file, share.device, share.offset, storage.nbytes()};
}

// Takes the descriptor over. The storage cannot grow: that would give it memory
// of its own without a word.
at::Storage open_shared(int file, int device, uint64_t offset, uint64_t bytes) {
  const sim_share share = {file, device, offset, bytes};
  void* ptr = nullptr;
  check(sim_pool_open(&share, current_handle(static_cast<c10::DeviceIndex>(device)), &ptr));
  c10::Allocator* allocator = c10::GetAllocator(kDeviceType);
  c10::DataPtr data(ptr, ptr, allocator->raw_deleter(), device_of(static_cast<c10::DeviceIndex>(device)));
  return at::Storage(c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes, std::move(data),
                                                           allocator, /*resizable=*/false));
}

const Bindings sharing_bindings([](py::module_& m) {
  m.def("share", &share, py::call_guard<py::gil_scoped_release>());
  m.def("open_shared", &open_shared);
});

}  // namespace
}  // namespace openreg
