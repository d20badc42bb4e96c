// The caching pool: the data structures behind sim_pool_*.
#pragma once

#include <memory>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "status.h"
#include "thread_safety.h"

namespace sim {

struct Block;

// Ordered by stream first: a free block may only serve the stream it served
// before, because the work of that stream may still be using it.
struct BySize {
  bool operator()(const Block* a, const Block* b) const;
};

using Cache = std::set<Block*, BySize>;
using Allocated = std::unordered_map<void*, Block*>;

// A part of a segment. Neighbours in the same segment are linked, so that free
// ones merge again.
struct Block {
  char* ptr = nullptr;
  size_t size = 0;
  sim_stream* stream = nullptr;
  bool small = false;
  size_t requested = 0;
  Block* previous = nullptr;
  Block* next = nullptr;
  std::set<sim_stream*> other_users{};  // from record_stream
  bool shared = false;   // another process may use it, too
  bool foreign = false;  // another process has allocated it
  // The nodes with which it enters the two tables; it is in one at most. Taking
  // them along spares the allocations that would cost more than all the rest.
  Cache::node_type cache_node{};
  Allocated::node_type allocated_node{};
};

// Thread safety: the mutex guards everything; blocks belong to the pool and never
// leave it. Nobody waits for a stream while holding it, because the work that is
// waited for may free memory.
class Pool {
 public:
  explicit Pool(int device) : device_(device) {}
  sim_status alloc(size_t bytes, sim_stream* stream, void** out) SIM_EXCLUDES(mutex_);
  sim_status record_stream(void* ptr, sim_stream* stream) SIM_EXCLUDES(mutex_);
  void release_segments() SIM_EXCLUDES(mutex_);
  sim_pool_stats stats() SIM_EXCLUDES(mutex_);
  void reset_stats(bool peaks, bool accumulated) SIM_EXCLUDES(mutex_);
  // False if the pointer is not an allocated block of this pool.
  bool free(void* ptr) SIM_EXCLUDES(mutex_);
  sim_status share(void* ptr, sim_share* out) SIM_EXCLUDES(mutex_);
  sim_status open(const sim_share& share, sim_stream* stream, void** out) SIM_EXCLUDES(mutex_);

 private:
  sim_status try_alloc(size_t bytes, sim_stream* stream, void** out) SIM_EXCLUDES(mutex_);
  Block* take_cached(size_t size, bool small, sim_stream* stream) SIM_REQUIRES(mutex_);
  sim_status grow(size_t size, bool small, sim_stream* stream, Block** out) SIM_REQUIRES(mutex_);
  void split(Block* block, size_t size) SIM_REQUIRES(mutex_);
  void enter_allocated(Block* block) SIM_REQUIRES(mutex_);
  void give_back(Block* block) SIM_REQUIRES(mutex_);
  static bool is_held_elsewhere(const Block& block);
  // Nobody has the block any more.
  void let_go(Block* block) SIM_REQUIRES(mutex_);
  bool leaves_cache(Block* neighbour) SIM_REQUIRES(mutex_);
  void poll_pending() SIM_REQUIRES(mutex_);
  void merge_with_next(Block* block) SIM_REQUIRES(mutex_);
  Block* make_block(char* ptr, size_t size, sim_stream* stream, bool small) SIM_REQUIRES(mutex_);
  std::vector<Block*> take_whole_segments() SIM_EXCLUDES(mutex_);
  Cache& cache(bool small) SIM_REQUIRES(mutex_) { return small ? small_ : large_; }
  void enter_cache(Block* block) SIM_REQUIRES(mutex_);

  const int device_;
  Mutex mutex_;
  Cache small_ SIM_GUARDED_BY(mutex_), large_ SIM_GUARDED_BY(mutex_);
  Allocated allocated_ SIM_GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Block>> spare_ SIM_GUARDED_BY(mutex_);
  // Freed by their owner, but other streams still have to reach these events, or
  // other processes have not freed them.
  std::vector<std::pair<Block*, std::vector<sim_event*>>> pending_ SIM_GUARDED_BY(mutex_);
  sim_pool_stats stats_ SIM_GUARDED_BY(mutex_){};
};

Pool& pool_at(int device);

}  // namespace sim
