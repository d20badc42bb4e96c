// Blocks that more than one process uses.
#include "memory.h"
#include "pool.h"

namespace sim {

sim_status Pool::share(void* ptr, sim_share* out) {
  Lock lock(mutex_);
  const auto found = allocated_.find(ptr);
  if (found == allocated_.end()) return fail(SIM_NOT_SHAREABLE, "%p is not a block of device %d", ptr, device_);
  Block* block = found->second;
  if (block->foreign) {
    return fail(SIM_NOT_SHAREABLE, "Attempted to send openreg tensor received from another process; this is not "
                "currently supported. Consider cloning before sending.");
  }
  SIM_RETURN_IF(share_range(ptr, block->requested, out));
  block->shared = true;
  return SIM_OK;
}

sim_status Pool::open(const sim_share& share, sim_stream* stream, void** out) {
  Lock lock(mutex_);
  poll_pending();
  SIM_RETURN_IF(map_share(share, out));
  Block* block = make_block(static_cast<char*>(*out), share.bytes, stream, false);
  block->foreign = true;
  enter_allocated(block);
  return SIM_OK;
}

bool Pool::is_held_elsewhere(const Block& block) { return block.shared && is_shared(block.ptr, block.requested); }

void Pool::let_go(Block* block) {
  if (block->foreign) {
    unmap_share(block->ptr);
    spare_.emplace_back(block);
  } else {
    block->shared = false;
    give_back(block);
  }
}

}  // namespace sim
