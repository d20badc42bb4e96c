// What the rest of the runtime needs to know about addresses.
#pragma once

#include <cstddef>

#include "status.h"

namespace sim {

// Where a kernel may touch the `bytes` at `ptr`: in the segment's window for
// device memory, `ptr` itself for host memory.
sim_status address_for_kernels(void* ptr, size_t bytes, void** out);

}  // namespace sim
