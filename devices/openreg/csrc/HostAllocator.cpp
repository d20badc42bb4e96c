// ATen/core/CachingHostAllocator.h: pinned host memory, the only host memory
// that an asynchronous copy may read or write after the call has returned.
//
// Thread safety: all state is guarded by the allocator's mutex.
#include <ATen/core/CachingHostAllocator.h>

#include <map>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "Runtime.h"
#include "Streams.h"

namespace openreg {
namespace {

void release(void* block);

struct PinnedBlock {
  void* ptr;
  size_t bytes;
  std::set<std::pair<c10::DeviceIndex, c10::StreamId>> users;  // since the last allocation
};

class PinnedAllocator final : public at::HostAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, release, c10::Device(c10::kCPU)};
    std::lock_guard lock(mutex_);
    collect_finished();
    const size_t size = round_up(bytes);
    PinnedBlock* block = nullptr;
    if (auto found = free_.find(size); found != free_.end()) {
      block = found->second;
      free_.erase(found);
    } else {
      block = new PinnedBlock{nullptr, size, {}};
      check(sim_host_alloc(size, &block->ptr));
      stats_.num_host_alloc++;
      stats_.allocations.increase(1);
      stats_.allocated_bytes.increase(size);
    }
    stats_.active_requests.increase(1);
    stats_.active_bytes.increase(size);
    in_use_.insert(block);
    return {block->ptr, block, release, c10::Device(c10::kCPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return release; }

  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    default_copy_data(destination, source, bytes);
  }

  bool record_event(void*, void* context, c10::Stream stream) override {
    std::lock_guard lock(mutex_);
    const auto found = in_use_.find(static_cast<PinnedBlock*>(context));
    if (found == in_use_.end()) return false;
    (*found)->users.insert({stream.device_index(), stream.id()});
    return true;
  }

  void empty_cache() override {
    std::lock_guard lock(mutex_);
    collect_finished();
    for (auto& [size, block] : free_) {
      check(sim_host_free(block->ptr));
      stats_.num_host_free++;
      stats_.allocations.decrease(1);
      stats_.allocated_bytes.decrease(size);
      delete block;
    }
    free_.clear();
  }

  at::HostStats get_stats() override {
    std::lock_guard lock(mutex_);
    return stats_;
  }

  void reset_accumulated_stats() override {
    std::lock_guard lock(mutex_);
    for (auto* stat : tracked()) stat->reset_accumulated();
    stats_.num_host_alloc = stats_.num_host_free = 0;
  }

  void reset_peak_stats() override {
    std::lock_guard lock(mutex_);
    for (auto* stat : tracked()) stat->reset_peak();
  }

  void give_back(PinnedBlock* block) {
    std::lock_guard lock(mutex_);
    in_use_.erase(block);
    stats_.active_requests.decrease(1);
    stats_.active_bytes.decrease(block->bytes);
    std::vector<sim_event*> events;
    for (const auto& [device, stream] : block->users) {
      sim_event* event = nullptr;
      sim_stream* handle = nullptr;
      if (sim_stream_get(device, static_cast<int>(stream), &handle) != SIM_OK) continue;
      if (sim_event_create(device, 0, &event) != SIM_OK) continue;
      (void)sim_event_record(event, handle);
      events.push_back(event);
    }
    block->users.clear();
    waiting_.emplace_back(block, std::move(events));
  }

 private:
  static size_t round_up(size_t bytes) {
    size_t size = 4096;
    while (size < bytes) size *= 2;
    return size;
  }

  void collect_finished() {
    std::erase_if(waiting_, [this](auto& entry) {
      std::erase_if(entry.second, [](sim_event* event) {
        if (sim_event_query(event) == SIM_NOT_READY) return false;
        (void)sim_event_destroy(event);
        return true;
      });
      if (!entry.second.empty()) return false;
      free_.emplace(entry.first->bytes, entry.first);
      return true;
    });
  }

  std::vector<c10::CachingAllocator::Stat*> tracked() {
    return {&stats_.active_requests, &stats_.active_bytes, &stats_.allocations, &stats_.allocated_bytes};
  }

  std::mutex mutex_;
  std::set<PinnedBlock*> in_use_;
  std::multimap<size_t, PinnedBlock*> free_;
  std::vector<std::pair<PinnedBlock*, std::vector<sim_event*>>> waiting_;
  at::HostStats stats_;
};

PinnedAllocator& allocator() {
  static PinnedAllocator* instance = new PinnedAllocator();
  return *instance;
}

void release(void* block) {
  if (block != nullptr) allocator().give_back(static_cast<PinnedBlock*>(block));
}

struct Registration {
  Registration() { at::setHostAllocator(kDeviceType, &allocator()); }
} registration;

}  // namespace
}  // namespace openreg
