// Device memory on protected pages, and the registry of pinned host memory.
//
// Each segment of device memory is a nameless file that is mapped twice. The
// first mapping has no access rights, ever; its address is the device pointer
// that the world sees. The second one, the window, can be read and written;
// launches translate the buffers that they name, and tell their kernel only.
//
// Thread safety: the registry is guarded by its mutex. A segment ends only by
// its owner's sim_free, which by contract has no kernel running on it.
#include "memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>

#include "device.h"
#include "fault.h"
#include "shared_file.h"
#include "thread_safety.h"

namespace sim {
namespace {

struct Region {
  char* base = nullptr;
  size_t bytes = 0;  // whole pages
  int device = -1;   // -1 for pinned host memory
  char* window = nullptr;
  bool contains(const char* address) const { return address >= base && address < base + bytes; }
};

struct Registry {
  Mutex mutex;
  std::map<const char*, Region> by_base SIM_GUARDED_BY(mutex);
  std::atomic<uint64_t> removals{1};  // makes what threads remember invalid
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

// Null if the address is none of ours. The answer is valid until the thread's
// next call. Each launch asks this, mostly for the segment it asked for before.
const Region* find(const void* ptr) {
  thread_local Region last;
  thread_local uint64_t removals_then = 0;
  const char* address = static_cast<const char*>(ptr);
  Registry& all = registry();
  if (removals_then == all.removals.load(std::memory_order_acquire) && last.contains(address)) return &last;
  Lock lock(all.mutex);
  auto next = all.by_base.upper_bound(address);
  if (next == all.by_base.begin()) return nullptr;
  const Region& region = std::prev(next)->second;
  if (!region.contains(address)) return nullptr;
  last = region;
  removals_then = all.removals.load(std::memory_order_relaxed);
  return &last;
}

void add(const Region& region) {
  Lock lock(registry().mutex);
  registry().by_base[region.base] = region;
}

// Removes the region that starts exactly at ptr; false if there is none.
bool take(const void* ptr, bool device_memory, Region& out) {
  Registry& all = registry();
  Lock lock(all.mutex);
  auto found = all.by_base.find(static_cast<const char*>(ptr));
  if (found == all.by_base.end() || (found->second.device >= 0) != device_memory) return false;
  out = found->second;
  all.by_base.erase(found);
  all.removals.fetch_add(1, std::memory_order_release);
  return true;
}

void unmap(const Region& region) {
  if (region.base != nullptr) munmap(region.base, region.bytes);
  if (region.window != nullptr) munmap(region.window, region.bytes);
}

char* map_shared(int file, size_t bytes, int protection) {
  void* address = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (address == MAP_FAILED) return nullptr;
#ifdef MADV_DONTFORK
  // A forked child has no device, so it must not write to its parent's either.
  madvise(address, bytes, MADV_DONTFORK);
#endif
#ifdef MADV_DONTDUMP
  // Once in a core file is enough: in the window.
  if (protection == PROT_NONE) madvise(address, bytes, MADV_DONTDUMP);
#endif
  return static_cast<char*>(address);
}

bool map_twice(Region& region) {
  const int file = make_shared_file(region.bytes);
  if (file < 0) return false;
  region.base = map_shared(file, region.bytes, PROT_NONE);
  region.window = map_shared(file, region.bytes, PROT_READ | PROT_WRITE);
  close(file);  // the mappings keep the memory
  if (region.base != nullptr && region.window != nullptr) return true;
  unmap(region);
  return false;
}

}  // namespace

sim_status address_for_kernels(void* ptr, size_t bytes, void** out) {
  *out = ptr;
  const Region* region = find(ptr);
  if (region == nullptr || region->device < 0) return SIM_OK;
  const size_t offset = static_cast<size_t>(static_cast<char*>(ptr) - region->base);
  if (bytes > region->bytes - offset) {
    return fail(SIM_INVALID_POINTER, "range of %zu bytes at %p leaves its allocation", bytes, ptr);
  }
  *out = region->window + offset;
  return SIM_OK;
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
  Region region{nullptr, rounded, device, nullptr};
  if (!map_twice(region)) {
    owner.used -= rounded;
    return fail(SIM_OUT_OF_MEMORY, "the host cannot map %zu bytes", rounded);
  }
  add(region);
  *out = region.base;
  return SIM_OK;
}

sim_status sim_free(void* ptr) {
  using namespace sim;
  if (ptr == nullptr) return SIM_OK;
  SIM_RETURN_IF(enter());
  Region region;
  if (!take(ptr, true, region)) return fail(SIM_INVALID_POINTER, "%p is not the start of device memory", ptr);
  unmap(region);
  device_at(region.device).used -= region.bytes;
  return SIM_OK;
}

sim_status sim_pointer_info(const void* ptr, sim_memory_kind* kind, int* device) {
  // A forked child may find the registry locked for ever; nothing is ours there.
  const sim::Region* region = sim_bad_fork() != 0 ? nullptr : sim::find(ptr);
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
  add({static_cast<char*>(base), rounded, -1, nullptr});
  *out = base;
  return SIM_OK;
}

sim_status sim_host_free(void* ptr) {
  using namespace sim;
  if (ptr == nullptr) return SIM_OK;
  SIM_RETURN_IF(enter());
  Region region;
  if (!take(ptr, false, region)) return fail(SIM_INVALID_POINTER, "%p is not the start of pinned memory", ptr);
  std::free(ptr);
  return SIM_OK;
}
