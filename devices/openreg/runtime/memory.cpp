// Device memory on protected pages, and the registry of pinned host memory.
//
// Thread safety: the registry is guarded by a shared mutex, the page counters
// of a region by the region's own mutex. A region is destroyed only by its
// owner's sim_free, which by contract has no kernel running on it.
#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "device.h"
#include "fault.h"

namespace sim {
namespace {

struct Region {
  char* base;
  size_t bytes;  // whole pages
  int device;    // -1 for pinned host memory
  std::mutex mutex;
  std::vector<unsigned> openings;  // per page, guarded by mutex

  Region(char* base, size_t bytes, int device, size_t pages)
      : base(base), bytes(bytes), device(device), openings(pages) {}
};

struct Registry {
  std::shared_mutex mutex;
  std::map<const char*, std::shared_ptr<Region>> by_base;
};

Registry& registry() {
  static Registry* instance = new Registry();
  return *instance;
}

size_t page_size() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

size_t round_to_pages(size_t bytes) { return (bytes + page_size() - 1) / page_size() * page_size(); }

std::shared_ptr<Region> find(const void* ptr) {
  const char* address = static_cast<const char*>(ptr);
  Registry& all = registry();
  std::shared_lock lock(all.mutex);
  auto next = all.by_base.upper_bound(address);
  if (next == all.by_base.begin()) return nullptr;
  std::shared_ptr<Region> region = std::prev(next)->second;
  return address < region->base + region->bytes ? region : nullptr;
}

void add(std::shared_ptr<Region> region) {
  std::unique_lock lock(registry().mutex);
  registry().by_base[region->base] = std::move(region);
}

// Removes the region that starts exactly at ptr, or returns null.
std::shared_ptr<Region> take(const void* ptr, bool device_memory) {
  Registry& all = registry();
  std::unique_lock lock(all.mutex);
  auto found = all.by_base.find(static_cast<const char*>(ptr));
  if (found == all.by_base.end() || (found->second->device >= 0) != device_memory) return nullptr;
  std::shared_ptr<Region> region = found->second;
  all.by_base.erase(found);
  return region;
}

// Adds `step` to each page's counter and changes the protection of exactly
// those runs of pages whose counter leaves or reaches zero.
sim_status change(void* ptr, size_t bytes, bool open) {
  if (bytes == 0) return SIM_OK;
  const std::shared_ptr<Region> region = find(ptr);
  if (region == nullptr || region->device < 0) return SIM_OK;  // host memory is always open
  const size_t offset = static_cast<size_t>(static_cast<char*>(ptr) - region->base);
  if (offset + bytes > region->bytes) {
    return fail(SIM_INVALID_POINTER, "range of %zu bytes at %p leaves its allocation", bytes, ptr);
  }
  const size_t first = offset / page_size();
  const size_t last = (offset + bytes - 1) / page_size();
  const int protection = open ? PROT_READ | PROT_WRITE : PROT_NONE;
  std::lock_guard lock(region->mutex);
  size_t run_start = 0;
  size_t run_length = 0;
  auto flush = [&] {
    if (run_length == 0) return 0;
    const int result = mprotect(region->base + run_start * page_size(), run_length * page_size(), protection);
    run_length = 0;
    return result;
  };
  for (size_t page = first; page <= last; ++page) {
    unsigned& count = region->openings[page];
    const bool crosses_zero = open ? count++ == 0 : --count == 0;
    if (crosses_zero) {
      if (run_length == 0) run_start = page;
      ++run_length;
    } else if (flush() != 0) {
      return fail(SIM_INVALID_POINTER, "mprotect failed");
    }
  }
  if (flush() != 0) return fail(SIM_INVALID_POINTER, "mprotect failed");
  return SIM_OK;
}

}  // namespace

bool is_pinned(const void* ptr) {
  const std::shared_ptr<Region> region = find(ptr);
  return region != nullptr && region->device < 0;
}

}  // namespace sim

sim_status sim_malloc(int device, size_t bytes, void** out) {
  using namespace sim;
  SIM_RETURN_IF(check_device(device));
  if (out == nullptr) return fail(SIM_INVALID_VALUE, "out must not be null");
  *out = nullptr;
  if (bytes == 0) return SIM_OK;
  const size_t rounded = round_to_pages(bytes);
  Device& owner = device_at(device);
  // Reserve first, so that two threads cannot pass the limit together.
  const size_t before = owner.used.fetch_add(rounded);
  if (before + rounded > owner.limit || fault_fires(FaultPoint::kMalloc, FaultKind::kOutOfMemory)) {
    owner.used -= rounded;
    return fail(SIM_OUT_OF_MEMORY, "device %d cannot map %zu bytes: %zu of %zu are in use", device, rounded, before,
                owner.limit.load());
  }
  void* base = mmap(nullptr, rounded, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    owner.used -= rounded;
    return fail(SIM_OUT_OF_MEMORY, "the host cannot map %zu bytes", rounded);
  }
  add(std::make_shared<Region>(static_cast<char*>(base), rounded, device, rounded / page_size()));
  *out = base;
  return SIM_OK;
}

sim_status sim_free(void* ptr) {
  using namespace sim;
  if (ptr == nullptr) return SIM_OK;
  SIM_RETURN_IF(enter());
  const std::shared_ptr<Region> region = take(ptr, true);
  if (region == nullptr) return fail(SIM_INVALID_POINTER, "%p is not the start of device memory", ptr);
  munmap(region->base, region->bytes);
  device_at(region->device).used -= region->bytes;
  return SIM_OK;
}

sim_status sim_memory_open(void* ptr, size_t bytes) { return sim::change(ptr, bytes, true); }

sim_status sim_memory_close(void* ptr, size_t bytes) { return sim::change(ptr, bytes, false); }

sim_status sim_pointer_info(const void* ptr, sim_memory_kind* kind, int* device) {
  const auto region = sim::find(ptr);
  *kind = region == nullptr ? SIM_MEMORY_OTHER : region->device >= 0 ? SIM_MEMORY_DEVICE : SIM_MEMORY_PINNED;
  *device = region == nullptr ? -1 : region->device;
  return SIM_OK;
}

sim_status sim_host_alloc(size_t bytes, void** out) {
  using namespace sim;
  SIM_RETURN_IF(enter());
  if (out == nullptr) return fail(SIM_INVALID_VALUE, "out must not be null");
  *out = nullptr;
  if (bytes == 0) return SIM_OK;
  const size_t rounded = round_to_pages(bytes);
  void* base = std::aligned_alloc(page_size(), rounded);
  if (base == nullptr) return fail(SIM_OUT_OF_MEMORY, "the host cannot allocate %zu bytes", rounded);
  add(std::make_shared<Region>(static_cast<char*>(base), rounded, -1, 0));
  *out = base;
  return SIM_OK;
}

sim_status sim_host_free(void* ptr) {
  using namespace sim;
  if (ptr == nullptr) return SIM_OK;
  if (take(ptr, false) == nullptr) return fail(SIM_INVALID_POINTER, "%p is not the start of pinned memory", ptr);
  std::free(ptr);
  return SIM_OK;
}
