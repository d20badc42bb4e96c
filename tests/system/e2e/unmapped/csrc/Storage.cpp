// c10/core/StorageImpl.h: resizing, with the old contents kept.
#include "Storage.h"

#include <c10/core/DeviceGuard.h>

#include <algorithm>

namespace mydevice {

void resize_storage(c10::StorageImpl* storage, size_t bytes) {
  TORCH_CHECK(storage->resizable(), "Trying to resize storage that is not resizable");
  const c10::DeviceGuard guard(storage->device());
  c10::DataPtr fresh = storage->allocator()->allocate(bytes);
  const size_t kept = std::min(bytes, storage->nbytes());
  if (kept > 0) check(card_move(address_of(fresh.get()), address_of(storage->data()), kept));
  storage->set_data_ptr_noswap(std::move(fresh));
  storage->set_nbytes(bytes);
}

}  // namespace mydevice
