#include "pool.h"

#include <algorithm>

#include "device.h"
#include "fault.h"
#include "stream.h"

namespace sim {
namespace {

constexpr size_t kGrain = 512;                // every block is a multiple of it
constexpr size_t kSmallLimit = 1 << 20;       // requests up to this share small segments
constexpr size_t kSmallSegment = 2 << 20;
constexpr size_t kLargeSegment = 20 << 20;    // for requests below half of it
constexpr size_t kLargeGrain = 2 << 20;

size_t round_up(size_t value, size_t grain) { return (value + grain - 1) / grain * grain; }

void add(sim_stat* stats, bool small, int64_t amount) {
  for (const int kind : {SIM_POOL_ALL, small ? SIM_POOL_SMALL : SIM_POOL_LARGE}) {
    sim_stat& stat = stats[kind];
    stat.current += amount;
    stat.peak = std::max(stat.peak, stat.current);
    (amount > 0 ? stat.allocated : stat.freed) += amount > 0 ? amount : -amount;
  }
}

bool is_split(const Block* block) { return block->previous != nullptr || block->next != nullptr; }

}  // namespace

bool BySize::operator()(const Block* a, const Block* b) const {
  if (a->stream != b->stream) return a->stream < b->stream;
  if (a->size != b->size) return a->size < b->size;
  return a->ptr < b->ptr;
}

Pool& pool_at(int device) {
  static Pool** pools = [] {
    Pool** created = new Pool*[kMaxDevices];
    for (int i = 0; i < kMaxDevices; ++i) created[i] = new Pool(i);
    return created;
  }();
  return *pools[device];
}

sim_status Pool::alloc(size_t bytes, sim_stream* stream, void** out) {
  sim_status status = try_alloc(bytes, stream, out);
  if (status != SIM_OUT_OF_MEMORY) return status;
  // Cached blocks count as used memory: give them back and try once more.
  release_segments();
  repeat_call(FaultPoint::kMalloc);
  status = try_alloc(bytes, stream, out);
  Lock lock(mutex_);
  stats_.alloc_retries++;
  if (status == SIM_OUT_OF_MEMORY) stats_.ooms++;
  return status;
}

sim_status Pool::try_alloc(size_t bytes, sim_stream* stream, void** out) {
  Lock lock(mutex_);
  poll_pending();
  const size_t size = round_up(std::max<size_t>(bytes, 1), kGrain);
  const bool small = size <= kSmallLimit;
  Block* block = take_cached(size, small, stream);
  if (block == nullptr) SIM_RETURN_IF(grow(size, small, stream, &block));
  split(block, size);
  block->requested = bytes;
  enter_allocated(block);
  const int64_t amount = static_cast<int64_t>(block->size);
  add(stats_.allocation, small, 1);
  add(stats_.active, small, 1);
  add(stats_.allocated_bytes, small, amount);
  add(stats_.active_bytes, small, amount);
  add(stats_.requested_bytes, small, static_cast<int64_t>(bytes));
  *out = block->ptr;
  return SIM_OK;
}

void Pool::enter_allocated(Block* block) {
  if (block->allocated_node.empty()) {
    allocated_[block->ptr] = block;
  } else {
    block->allocated_node.key() = block->ptr;
    block->allocated_node.mapped() = block;
    allocated_.insert(std::move(block->allocated_node));
  }
}

Block* Pool::take_cached(size_t size, bool small, sim_stream* stream) {
  Block key;
  key.size = size;
  key.stream = stream;
  Cache& blocks = cache(small);
  const auto found = blocks.lower_bound(&key);
  if (found == blocks.end() || (*found)->stream != stream) return nullptr;
  Block* block = *found;
  block->cache_node = blocks.extract(found);
  if (is_split(block)) {
    add(stats_.inactive_split, small, -1);
    add(stats_.inactive_split_bytes, small, -static_cast<int64_t>(block->size));
  }
  return block;
}

Block* Pool::make_block(char* ptr, size_t size, sim_stream* stream, bool small) {
  if (spare_.empty()) spare_.push_back(std::make_unique<Block>());
  Block* block = spare_.back().release();
  spare_.pop_back();
  block->ptr = ptr;
  block->size = size;
  block->stream = stream;
  block->small = small;
  block->previous = block->next = nullptr;
  block->shared = block->foreign = false;
  return block;
}

void Pool::enter_cache(Block* block) {
  if (block->cache_node.empty()) {
    cache(block->small).insert(block);
  } else {
    block->cache_node.value() = block;
    cache(block->small).insert(std::move(block->cache_node));
  }
  if (is_split(block)) {
    add(stats_.inactive_split, block->small, 1);
    add(stats_.inactive_split_bytes, block->small, static_cast<int64_t>(block->size));
  }
}

sim_status Pool::grow(size_t size, bool small, sim_stream* stream, Block** out) {
  const size_t segment = small ? kSmallSegment : size < kLargeSegment / 2 ? kLargeSegment : round_up(size, kLargeGrain);
  void* ptr = nullptr;
  SIM_RETURN_IF(sim_malloc(device_, segment, &ptr));
  *out = make_block(static_cast<char*>(ptr), segment, stream, small);
  stats_.device_allocs++;
  add(stats_.segment, small, 1);
  add(stats_.reserved_bytes, small, static_cast<int64_t>(segment));
  return SIM_OK;
}

void Pool::split(Block* block, size_t size) {
  const size_t rest = block->size - size;
  if (rest < (block->small ? kGrain : kSmallLimit)) return;
  Block* tail = make_block(block->ptr + size, rest, block->stream, block->small);
  tail->previous = block;
  tail->next = block->next;
  if (tail->next != nullptr) tail->next->previous = tail;
  block->next = tail;
  block->size = size;
  enter_cache(tail);
}

bool Pool::free(void* ptr) {
  Lock lock(mutex_);
  const auto found = allocated_.find(ptr);
  if (found == allocated_.end()) return false;
  Block* block = found->second;
  block->allocated_node = allocated_.extract(found);
  if (block->foreign) {
    // What uses it must be done before it is unmapped, also in its own stream.
    block->other_users.insert(block->stream);
  } else {
    add(stats_.allocation, block->small, -1);
    add(stats_.allocated_bytes, block->small, -static_cast<int64_t>(block->size));
    add(stats_.requested_bytes, block->small, -static_cast<int64_t>(block->requested));
  }
  std::vector<sim_event*> events;
  for (sim_stream* user : block->other_users) {
    sim_event* event = nullptr;
    if (sim_event_create(user->device, 0, &event) != SIM_OK) continue;
    if (sim_event_record(event, user) == SIM_OK) {
      events.push_back(event);
    } else {
      sim_event_destroy(event);
    }
  }
  block->other_users.clear();
  if (events.empty() && !block->shared && !block->foreign) {
    give_back(block);
    return true;
  }
  pending_.emplace_back(block, std::move(events));
  // So that another process has it back as soon as it can.
  if (block->foreign) poll_pending();
  return true;
}

void Pool::give_back(Block* block) {
  add(stats_.active, block->small, -1);
  add(stats_.active_bytes, block->small, -static_cast<int64_t>(block->size));
  if (leaves_cache(block->next)) merge_with_next(block);
  if (leaves_cache(block->previous)) {
    block = block->previous;
    merge_with_next(block);
  }
  enter_cache(block);
}

// False if the neighbour is in use, or there is none.
bool Pool::leaves_cache(Block* neighbour) {
  if (neighbour == nullptr || !neighbour->cache_node.empty()) return false;
  const auto found = cache(neighbour->small).find(neighbour);
  if (found == cache(neighbour->small).end()) return false;
  neighbour->cache_node = cache(neighbour->small).extract(found);
  add(stats_.inactive_split, neighbour->small, -1);
  add(stats_.inactive_split_bytes, neighbour->small, -static_cast<int64_t>(neighbour->size));
  return true;
}

void Pool::merge_with_next(Block* block) {
  Block* next = block->next;
  block->size += next->size;
  block->next = next->next;
  if (block->next != nullptr) block->next->previous = block;
  spare_.emplace_back(next);
}

void Pool::poll_pending() {
  for (size_t i = 0; i < pending_.size();) {
    auto& [block, events] = pending_[i];
    std::erase_if(events, [](sim_event* event) {
      if (sim_event_query(event) == SIM_NOT_READY) return false;
      sim_event_destroy(event);
      return true;
    });
    if (!events.empty() || is_held_elsewhere(*block)) {
      ++i;
      continue;
    }
    let_go(block);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// Queued work may still use a free block, and unmapping is not ordered by
// streams: what is free now goes after the work of now is done.
void Pool::release_segments() {
  drain(device_);  // freed blocks reach the events that they wait for
  const std::vector<Block*> blocks = take_whole_segments();
  drain(device_);
  for (const Block* block : blocks) sim_free(block->ptr);
  Lock lock(mutex_);
  stats_.sync_all_streams++;
  for (Block* block : blocks) {
    stats_.device_frees++;
    add(stats_.segment, block->small, -1);
    add(stats_.reserved_bytes, block->small, -static_cast<int64_t>(block->size));
    spare_.emplace_back(block);
  }
}

std::vector<Block*> Pool::take_whole_segments() {
  Lock lock(mutex_);
  poll_pending();
  std::vector<Block*> whole;
  for (Cache* blocks : {&small_, &large_}) {
    for (auto it = blocks->begin(); it != blocks->end();) {
      Block* block = *it;
      const auto here = it++;
      if (is_split(block)) continue;
      block->cache_node = blocks->extract(here);
      whole.push_back(block);
    }
  }
  return whole;
}

sim_status Pool::record_stream(void* ptr, sim_stream* stream) {
  Lock lock(mutex_);
  const auto found = allocated_.find(ptr);
  if (found == allocated_.end()) return fail(SIM_INVALID_POINTER, "%p is not a block of device %d", ptr, device_);
  if (found->second->stream != stream) found->second->other_users.insert(stream);
  return SIM_OK;
}

sim_pool_stats Pool::stats() {
  Lock lock(mutex_);
  poll_pending();
  return stats_;
}

void Pool::reset_stats(bool peaks, bool accumulated) {
  Lock lock(mutex_);
  for (auto* group : {stats_.allocation, stats_.segment, stats_.active, stats_.inactive_split, stats_.allocated_bytes,
                      stats_.reserved_bytes, stats_.active_bytes, stats_.inactive_split_bytes,
                      stats_.requested_bytes}) {
    for (int kind = 0; kind < SIM_POOL_KINDS; ++kind) {
      if (peaks) group[kind].peak = group[kind].current;
      if (accumulated) group[kind].allocated = group[kind].freed = 0;
    }
  }
  if (accumulated) {
    stats_.alloc_retries = stats_.ooms = stats_.device_allocs = stats_.device_frees = stats_.sync_all_streams = 0;
  }
}

}  // namespace sim
