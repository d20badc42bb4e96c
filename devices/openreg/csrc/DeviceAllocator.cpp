// c10/core/CachingDeviceAllocator.h: device memory for tensors, with the
// statistics behind torch.accelerator.memory_*. The caching itself is the
// runtime's pool; this file only translates.
//
// Thread safety: stateless; the pool locks.
#include <c10/core/CachingDeviceAllocator.h>

#include "Runtime.h"
#include "Streams.h"

namespace openreg {
namespace {

void release(void* ptr) {
  // No throw from a deleter: after a fork or at exit the memory is simply gone.
  (void)sim_pool_free(ptr);
}

c10::CachingAllocator::StatArray convert(const sim_stat* stats) {
  c10::CachingAllocator::StatArray result;
  for (size_t kind = 0; kind < SIM_POOL_KINDS; ++kind) {
    result[kind].current = stats[kind].current;
    result[kind].peak = stats[kind].peak;
    result[kind].allocated = stats[kind].allocated;
    result[kind].freed = stats[kind].freed;
  }
  return result;
}

struct Allocator final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    const c10::DeviceIndex device = index_or_current(c10::Device(kDeviceType));
    void* ptr = nullptr;
    if (bytes > 0) check(sim_pool_alloc(device, bytes, current_handle(device), &ptr));
    return {ptr, ptr, release, device_of(device)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return release; }

  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    const c10::DeviceIndex device = index_or_current(c10::Device(kDeviceType));
    check(sim_memcpy_async(destination, source, bytes, current_handle(device)));
  }

  bool initialized() override { return sim_initialized() != 0; }

  void emptyCache(c10::MempoolId_t) override {
    for (int device = 0; device < sim_device_count(); ++device) check(sim_pool_empty_cache(device));
  }

  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    check(sim_pool_record_stream(data.get(), handle_of(stream)));
  }

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    sim_pool_stats stats{};
    check(sim_pool_get_stats(device, &stats));
    c10::CachingDeviceAllocator::DeviceStats result;
    result.allocation = convert(stats.allocation);
    result.segment = convert(stats.segment);
    result.active = convert(stats.active);
    result.inactive_split = convert(stats.inactive_split);
    result.allocated_bytes = convert(stats.allocated_bytes);
    result.reserved_bytes = convert(stats.reserved_bytes);
    result.active_bytes = convert(stats.active_bytes);
    result.inactive_split_bytes = convert(stats.inactive_split_bytes);
    result.requested_bytes = convert(stats.requested_bytes);
    result.num_alloc_retries = stats.alloc_retries;
    result.num_ooms = stats.ooms;
    result.num_sync_all_streams = stats.sync_all_streams;
    result.num_device_alloc = stats.device_allocs;
    result.num_device_free = stats.device_frees;
    return result;
  }

  void resetAccumulatedStats(c10::DeviceIndex device) override { check(sim_pool_reset_stats(device, 0, 1)); }
  void resetPeakStats(c10::DeviceIndex device) override { check(sim_pool_reset_stats(device, 1, 0)); }

  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    size_t free = 0;
    size_t total = 0;
    check(sim_device_memory_info(device, &free, &total));
    return {free, total};
  }
};

Allocator allocator;
REGISTER_ALLOCATOR(kDeviceType, &allocator);

}  // namespace
}  // namespace openreg
