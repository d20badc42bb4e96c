// Device memory on protected pages, and the registry of pinned host memory.
//
// Each segment of device memory is a nameless file that is mapped twice. The
// first mapping has no access rights, ever; its address is the device pointer
// that the world sees. The second one, the window, can be read and written;
// launches translate the buffers that they name, and tell their kernel only.
// Another process that is given a part of the file maps that in the same way.
//
// Thread safety: the registry is guarded by its mutex. A segment ends only by
// its owner's sim_free, which by contract has no kernel running on it.
#include "memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <utility>

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
  int file = -1;      // of a segment: for sharing parts of it; of a part from elsewhere: the claim to it
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
  if (region.file >= 0) close(region.file);
}

char* map_shared(int file, size_t offset, size_t bytes, int protection) {
  void* address =
      mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, file, static_cast<off_t>(offset));
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

bool map_twice(Region& region, size_t offset = 0) {
  region.base = map_shared(region.file, offset, region.bytes, PROT_NONE);
  region.window = map_shared(region.file, offset, region.bytes, PROT_READ | PROT_WRITE);
  return region.base != nullptr && region.window != nullptr;
}

// The mappings keep the memory; only sharing needs the descriptor. A process
// with very many segments shares those of its first half of descriptors, and
// leaves the others for files.
bool worth_keeping(int file) {
  static const rlim_t most = [] {
    struct rlimit limit {};
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 0;
  }();
  return static_cast<rlim_t>(file) < most;
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

sim_status share_range(const void* ptr, size_t bytes, sim_share* out) {
  const Region* region = find(ptr);
  if (region == nullptr || region->file < 0) {
    return fail(SIM_NOT_SHAREABLE, "%p cannot be shared: the process has used too many file descriptors", ptr);
  }
  const size_t offset = static_cast<size_t>(static_cast<const char*>(ptr) - region->base);
  const int file = claim_range(region->file, offset, bytes);
  if (file < 0) return fail(SIM_NOT_SHAREABLE, "%p cannot be shared: the system refuses a claim to it", ptr);
  *out = {file, region->device, offset, bytes};
  return SIM_OK;
}

bool is_shared(const void* ptr, size_t bytes) {
  const Region* region = find(ptr);
  if (region == nullptr || region->file < 0) return false;
  return is_claimed(region->file, static_cast<size_t>(static_cast<const char*>(ptr) - region->base), bytes);
}

sim_status map_share(const sim_share& share, void** out) {
  struct stat found {};
  if (fstat(share.file, &found) != 0 || share.bytes == 0 || share.bytes > static_cast<uint64_t>(found.st_size) ||
      share.offset > static_cast<uint64_t>(found.st_size) - share.bytes) {
    return fail(SIM_INVALID_VALUE, "descriptor %d is not of shared device memory with %zu bytes at %zu", share.file,
                static_cast<size_t>(share.bytes), static_cast<size_t>(share.offset));
  }
  const size_t before = share.offset % page_size();
  Region region{nullptr, round_to_pages(before + share.bytes), share.device, nullptr, share.file};
  if (!map_twice(region, share.offset - before)) {
    region.file = -1;  // stays the caller's
    unmap(region);
    return fail(SIM_OUT_OF_MEMORY, "the host cannot map %zu shared bytes", region.bytes);
  }
  add(region);
  *out = region.base + before;
  return SIM_OK;
}

void unmap_share(void* ptr) {
  Region region;
  const Region* found = find(ptr);
  if (found != nullptr && take(found->base, true, region)) unmap(region);
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
  Region region{nullptr, rounded, device, nullptr, make_shared_file(rounded)};
  if (region.file < 0 || !map_twice(region)) {
    unmap(region);
    owner.used -= rounded;
    return fail(SIM_OUT_OF_MEMORY, "the host cannot map %zu bytes", rounded);
  }
  if (!worth_keeping(region.file)) close(std::exchange(region.file, -1));
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
  add({static_cast<char*>(base), rounded, -1, nullptr, -1});
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
