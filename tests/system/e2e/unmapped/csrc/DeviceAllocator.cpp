// c10/core/CachingDeviceAllocator.h: device memory for tensors, with the
// statistics behind torch.accelerator.memory_*. Stateless; the driver locks.
#include <c10/core/CachingDeviceAllocator.h>

#include "Runtime.h"

namespace mydevice {
namespace {

void release(void* ptr) {
  // No throw from a deleter: after a fork or at exit the memory is simply gone.
  (void)card_free(address_of(ptr));
}

struct Allocator final : c10::DeviceAllocator {
  c10::DataPtr allocate(size_t bytes) override {
    uint64_t address = 0;
    if (bytes > 0) check(card_alloc(bytes, &address));
    void* ptr = reinterpret_cast<void*>(address);
    return {ptr, ptr, release, device_of(0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return release; }
  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    check(card_move(address_of(destination), address_of(source), bytes));
  }
  bool initialized() override { return card_open() != 0; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    existing(device);
    const card_memory usage = used();
    c10::CachingDeviceAllocator::DeviceStats result;
    result.allocated_bytes[0].current = static_cast<int64_t>(usage.used);
    result.allocated_bytes[0].peak = static_cast<int64_t>(usage.peak);
    result.reserved_bytes = result.active_bytes = result.requested_bytes = result.allocated_bytes;
    return result;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override { check(card_reset_peak()); }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    existing(device);
    const card_memory usage = used();
    return {usage.total - usage.used, usage.total};
  }

 private:
  static card_memory used() {
    card_memory usage;
    check(card_usage(&usage));
    return usage;
  }
};

Allocator allocator;
REGISTER_ALLOCATOR(kDeviceType, &allocator);

}  // namespace
}  // namespace mydevice
