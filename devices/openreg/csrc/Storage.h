// c10/core/StorageImpl.h: growing and shrinking device storages.
#pragma once

#include <c10/core/StorageImpl.h>

#include "Runtime.h"

namespace openreg {

// Gives the storage a new block of `bytes`, keeping what fits of its contents.
void resize_storage(c10::StorageImpl* storage, size_t bytes);

}  // namespace openreg
