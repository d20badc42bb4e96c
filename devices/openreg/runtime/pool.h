// The caching pool: the data structures behind sim_pool_*.
#pragma once

#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "status.h"

namespace sim {

// A part of a segment. Neighbours in the same segment are linked, so that free
// ones merge again.
struct Block {
  char* ptr;
  size_t size;
  sim_stream* stream;
  bool small;
  bool allocated = false;
  size_t requested = 0;
  Block* previous = nullptr;
  Block* next = nullptr;
  std::set<sim_stream*> other_users{};  // from record_stream
};

// Ordered by stream first: a free block may only serve the stream it served
// before, because the work of that stream may still be using it.
struct BySize {
  bool operator()(const Block* a, const Block* b) const {
    if (a->stream != b->stream) return a->stream < b->stream;
    if (a->size != b->size) return a->size < b->size;
    return a->ptr < b->ptr;
  }
};

// Thread safety: every member function takes the mutex; blocks belong to the
// pool and never leave it.
class Pool {
 public:
  explicit Pool(int device) : device_(device) {}
  sim_status alloc(size_t bytes, sim_stream* stream, void** out);
  sim_status record_stream(void* ptr, sim_stream* stream);
  sim_status empty_cache();
  sim_pool_stats stats();
  void reset_stats(bool peaks, bool accumulated);
  // False if the pointer is not an allocated block of this pool.
  bool free(void* ptr);

 private:
  Block* take_cached(size_t size, bool small, sim_stream* stream);
  sim_status grow(size_t size, bool small, sim_stream* stream, Block** out);
  void split(Block* block, size_t size);
  void give_back(Block* block);
  void poll_pending();
  void release_segments();
  void merge_with_next(Block* block);
  std::set<Block*, BySize>& cache(bool small) { return small ? small_ : large_; }

  const int device_;
  std::mutex mutex_;
  std::set<Block*, BySize> small_, large_;
  std::unordered_map<void*, Block*> allocated_;
  // Freed by their owner, but other streams still have to reach these events.
  std::vector<std::pair<Block*, std::vector<sim_event*>>> pending_;
  sim_pool_stats stats_{};
};

Pool& pool_at(int device);

}  // namespace sim
