// What the rest of the runtime needs to know about addresses.
#pragma once

#include <cstddef>

#include "status.h"

namespace sim {

// Where a kernel may touch the `bytes` at `ptr`: in the segment's window for
// device memory, `ptr` itself for host memory.
sim_status address_for_kernels(void* ptr, size_t bytes, void** out);

// Lets other processes map the `bytes` of device memory at `ptr`.
sim_status share_range(const void* ptr, size_t bytes, sim_share* out);
// Whether one of them, or a message to one of them, still has the range.
bool is_shared(const void* ptr, size_t bytes);
// Maps a range of another process, as device memory of this one.
sim_status map_share(const sim_share& share, void** out);
// Ends the mapping; `ptr` is what map_share gave.
void unmap_share(void* ptr);

}  // namespace sim
