/* The C interface of the simulated accelerator. No PyTorch in here: a real
 * device would bring a vendor's driver library in the place of this one.
 *
 * Every function returns a sim_status. After a failure, sim_last_error() gives
 * the text for the calling thread. All functions may be called from any thread;
 * the current device is a property of the thread. */
#ifndef OPENREG_SIM_H
#define OPENREG_SIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIM_API __attribute__((visibility("default")))

typedef enum sim_status {
  SIM_OK = 0,
  SIM_INVALID_VALUE = 1,
  SIM_INVALID_DEVICE = 2,
  SIM_INVALID_POINTER = 3,
  SIM_OUT_OF_MEMORY = 4,
  SIM_NOT_READY = 5,
  SIM_LAUNCH_FAILED = 6,
  SIM_DEVICE_LOST = 7,
  SIM_BAD_FORK = 8,
  SIM_TIMING_OFF = 9,
  SIM_NOT_SHAREABLE = 10
} sim_status;

/* A stable name such as "SIM_OUT_OF_MEMORY"; never null. */
SIM_API const char* sim_status_name(sim_status status);
/* Text of the last failure on this thread; empty before the first one. */
SIM_API const char* sim_last_error(void);

/* SIM_INVALID_VALUE if one of the OPENREG_ variables makes no sense. Nothing that
 * needs a device works then, so that no wrong setting goes unnoticed. */
SIM_API sim_status sim_check_environment(void);

/* ---- devices ---- */

/* OPENREG_DEVICE_COUNT, from 1 to 16, default 2, read once. Does not initialise a
 * device. */
SIM_API int sim_device_count(void);
/* SIM_INVALID_DEVICE for an index that no device has. Does not initialise a
 * device either. */
SIM_API sim_status sim_device_check(int device);
SIM_API sim_status sim_device_get(int* device);
SIM_API sim_status sim_device_set(int device);
/* Waits for every stream of the device and reports its first pending error. */
SIM_API sim_status sim_device_synchronize(int device);
/* After this, work on the device fails with SIM_DEVICE_LOST until the reset. */
SIM_API sim_status sim_device_lose(int device);
SIM_API sim_status sim_device_reset(int device);
SIM_API sim_status sim_device_memory_info(int device, size_t* free, size_t* total);
/* The limit starts as OPENREG_MEMORY_LIMIT (bytes), default 16 GiB. */
SIM_API sim_status sim_device_set_memory_limit(int device, size_t bytes);
/* 1 once any device memory or stream exists in this process. */
SIM_API int sim_initialized(void);
/* 1 in a child forked from an initialised process: nothing works there. */
SIM_API int sim_bad_fork(void);

/* ---- memory ---- */

/* A device pointer has no access rights, ever: host code that touches it
 * faults, also while a kernel runs. The same memory is mapped a second time,
 * where only kernels get at it: a launch names buffers by device pointers, and
 * its kernel is told where those are. */
SIM_API sim_status sim_malloc(int device, size_t bytes, void** out);
SIM_API sim_status sim_free(void* ptr);

typedef enum sim_memory_kind { SIM_MEMORY_OTHER = 0, SIM_MEMORY_DEVICE = 1, SIM_MEMORY_PINNED = 2 } sim_memory_kind;
/* `device` is -1 unless the kind is SIM_MEMORY_DEVICE. */
SIM_API sim_status sim_pointer_info(const void* ptr, sim_memory_kind* kind, int* device);

/* Host memory registered with the devices: asynchronous copies need it. */
SIM_API sim_status sim_host_alloc(size_t bytes, void** out);
SIM_API sim_status sim_host_free(void* ptr);

/* ---- streams: each is served by a worker thread of its own ---- */

typedef struct sim_stream sim_stream;
/* Streams live as long as the process. Index 0 is the default stream. */
SIM_API sim_status sim_stream_get(int device, int index, sim_stream** out);
SIM_API int sim_stream_count(void);
/* The index of a stream from the device's pool, in turn: two calls get the same
 * one when the pool has gone round. Priority -1 comes before 0: while a kernel
 * of such a stream is ready or runs, the device begins no kernel of priority 0.
 * Others are SIM_INVALID_VALUE. */
SIM_API sim_status sim_stream_from_pool(int device, int priority, int* index);
SIM_API sim_status sim_stream_query(sim_stream* stream);
SIM_API sim_status sim_stream_synchronize(sim_stream* stream);

typedef struct sim_buffer {
  void* ptr;
  size_t bytes;
  int writes; /* 1 if the kernel writes to it */
} sim_buffer;

/* `memory` repeats the launch's buffers with the addresses at which the kernel
 * may touch them while it runs. Returns 0, or non-zero with a text in `error`. */
typedef int (*sim_kernel)(void* arg, const sim_buffer* memory, char* error, size_t error_size);

typedef struct sim_launch_desc {
  const char* name; /* not copied: valid until the kernel is done */
  sim_kernel run;
  void (*drop)(void* arg); /* called once, whether the kernel ran or not */
  void* arg;
  const sim_buffer* buffers; /* copied by the call */
  size_t buffer_count;
} sim_launch_desc;

/* Queues a kernel and returns at once. A failure of the kernel is reported by
 * the next synchronisation of its stream. `drop` may run on the worker. */
SIM_API sim_status sim_launch(sim_stream* stream, const sim_launch_desc* desc);
/* Takes its turn in the stream as every other kernel does, but runs on the
 * calling thread, which waits for that turn and gets the failure at once. */
SIM_API sim_status sim_launch_inline(sim_stream* stream, const sim_launch_desc* desc);
/* Any of the two pointers may be host or device memory, of any device. */
SIM_API sim_status sim_memcpy_async(void* dst, const void* src, size_t bytes, sim_stream* stream);
/* The same as an inline launch: done when the call returns. */
SIM_API sim_status sim_memcpy(void* dst, const void* src, size_t bytes, sim_stream* stream);

/* What a kernel or copy did, for profilers. Times are nanoseconds since the
 * epoch; the correlation is the launching thread's at the time of the launch. */
typedef struct sim_activity {
  const char* name; /* valid during the callback only */
  int device;
  int stream;
  int is_copy;
  int64_t start_ns;
  int64_t end_ns;
  uint64_t correlation;
} sim_activity;
/* Called on the thread that ran the kernel; null switches it off. */
typedef void (*sim_activity_callback)(const sim_activity* activity);
SIM_API void sim_set_activity_callback(sim_activity_callback callback);
SIM_API void sim_set_correlation(uint64_t correlation);

/* ---- events ---- */

typedef struct sim_event sim_event;
SIM_API sim_status sim_event_create(int device, int timing, sim_event** out);
SIM_API sim_status sim_event_destroy(sim_event* event);
SIM_API sim_status sim_event_record(sim_event* event, sim_stream* stream);
/* SIM_OK when complete or never recorded, SIM_NOT_READY while work is ahead. */
SIM_API sim_status sim_event_query(sim_event* event);
SIM_API sim_status sim_event_synchronize(sim_event* event);
SIM_API sim_status sim_stream_wait_event(sim_stream* stream, sim_event* event);
SIM_API sim_status sim_event_elapsed_ms(sim_event* start, sim_event* end, double* ms);

/* ---- caching pool: one per device, blocks belong to a stream ---- */

typedef struct sim_stat {
  int64_t current, peak, allocated, freed;
} sim_stat;
enum { SIM_POOL_ALL = 0, SIM_POOL_SMALL = 1, SIM_POOL_LARGE = 2, SIM_POOL_KINDS = 3 };
typedef struct sim_pool_stats {
  sim_stat allocation[SIM_POOL_KINDS], segment[SIM_POOL_KINDS], active[SIM_POOL_KINDS], inactive_split[SIM_POOL_KINDS];
  sim_stat allocated_bytes[SIM_POOL_KINDS], reserved_bytes[SIM_POOL_KINDS], active_bytes[SIM_POOL_KINDS];
  sim_stat inactive_split_bytes[SIM_POOL_KINDS], requested_bytes[SIM_POOL_KINDS];
  int64_t alloc_retries, ooms, device_allocs, device_frees, sync_all_streams;
} sim_pool_stats;

SIM_API sim_status sim_pool_alloc(int device, size_t bytes, sim_stream* stream, void** out);
SIM_API sim_status sim_pool_free(void* ptr);
/* The block is not reused before the work now queued on `stream` is done. */
SIM_API sim_status sim_pool_record_stream(void* ptr, sim_stream* stream);
SIM_API sim_status sim_pool_empty_cache(int device);
SIM_API sim_status sim_pool_get_stats(int device, sim_pool_stats* out);
SIM_API sim_status sim_pool_reset_stats(int device, int peaks, int accumulated);

/* ---- memory that several processes use, without a copy (Linux only) ---- */

typedef struct sim_share {
  int file; /* a descriptor: while any process has it open, the block is not reused */
  int device;
  uint64_t offset; /* of the block in the file */
  uint64_t bytes;
} sim_share;

/* `ptr` is the start of an allocated block of this process, else the status is
 * SIM_NOT_SHAREABLE. The caller has to wait for the work on it, and to close the
 * descriptor, of which other processes get copies. */
SIM_API sim_status sim_pool_share(void* ptr, sim_share* out);
/* Maps the block. Takes the descriptor over, unless it fails. The block behaves as one of
 * `stream` until sim_pool_free, and is counted where it was allocated only. */
SIM_API sim_status sim_pool_open(const sim_share* share, sim_stream* stream, void** out);

/* ---- fault switch ---- */

/* "KIND[@POINT:COUNT]", see README.md; null or empty switches faults off. */
SIM_API sim_status sim_fault_set(const char* spec);

#ifdef __cplusplus
}
#endif
#endif
