// The C entry points of the caching pool: checks, then the pool itself.
#include "device.h"
#include "pool.h"
#include "stream.h"

sim_status sim_pool_alloc(int device, size_t bytes, sim_stream* stream, void** out) {
  SIM_RETURN_IF(sim::check_device(device));
  if (stream == nullptr || stream->device != device || out == nullptr) {
    return sim::fail(SIM_INVALID_VALUE, "an allocation needs a stream of its own device");
  }
  *out = nullptr;
  if (bytes == 0) return SIM_OK;
  return sim::pool_at(device).alloc(bytes, stream, out);
}

sim_status sim_pool_free(void* ptr) {
  if (ptr == nullptr) return SIM_OK;
  // A forked child may find the lock taken for ever; its memory is a copy anyway.
  SIM_RETURN_IF(sim::enter());
  sim_memory_kind kind = SIM_MEMORY_OTHER;
  int device = -1;
  sim_pointer_info(ptr, &kind, &device);
  if (kind != SIM_MEMORY_DEVICE || !sim::pool_at(device).free(ptr)) {
    return sim::fail(SIM_INVALID_POINTER, "%p is not an allocated block", ptr);
  }
  return SIM_OK;
}

sim_status sim_pool_record_stream(void* ptr, sim_stream* stream) {
  if (ptr == nullptr) return SIM_OK;
  SIM_RETURN_IF(sim::enter());
  sim_memory_kind kind = SIM_MEMORY_OTHER;
  int device = -1;
  sim_pointer_info(ptr, &kind, &device);
  if (kind != SIM_MEMORY_DEVICE) return sim::fail(SIM_INVALID_POINTER, "%p is not device memory", ptr);
  return sim::pool_at(device).record_stream(ptr, stream);
}

sim_status sim_pool_share(void* ptr, sim_share* out) {
  SIM_RETURN_IF(sim::enter());
  if (out == nullptr) return sim::fail(SIM_INVALID_VALUE, "out must not be null");
  sim_memory_kind kind = SIM_MEMORY_OTHER;
  int device = -1;
  sim_pointer_info(ptr, &kind, &device);
  if (kind != SIM_MEMORY_DEVICE) return sim::fail(SIM_NOT_SHAREABLE, "%p is not device memory", ptr);
  return sim::pool_at(device).share(ptr, out);
}

sim_status sim_pool_open(const sim_share* share, sim_stream* stream, void** out) {
  if (share == nullptr || out == nullptr) return sim::fail(SIM_INVALID_VALUE, "a share and out must not be null");
  SIM_RETURN_IF(sim::check_device(share->device));
  if (stream == nullptr || stream->device != share->device) {
    return sim::fail(SIM_INVALID_VALUE, "shared memory needs a stream of its own device");
  }
  return sim::pool_at(share->device).open(*share, stream, out);
}

sim_status sim_pool_empty_cache(int device) {
  SIM_RETURN_IF(sim::check_device(device));
  sim::pool_at(device).release_segments();
  return SIM_OK;
}

sim_status sim_pool_get_stats(int device, sim_pool_stats* out) {
  SIM_RETURN_IF(sim::check_readable(device));
  *out = sim::pool_at(device).stats();
  return SIM_OK;
}

sim_status sim_pool_reset_stats(int device, int peaks, int accumulated) {
  SIM_RETURN_IF(sim::check_readable(device));
  sim::pool_at(device).reset_stats(peaks != 0, accumulated != 0);
  return SIM_OK;
}
