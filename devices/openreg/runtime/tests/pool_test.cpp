#include <unistd.h>

#include <cstring>
#include <thread>

#include "kernels.h"

namespace {

sim_pool_stats stats(int device = 0) {
  sim_pool_stats result{};
  EXPECT_OK(sim_pool_get_stats(device, &result));
  return result;
}

}  // namespace

TEST(the_pool_reuses_and_counts) {
  const sim_pool_stats before = stats();
  void* first = nullptr;
  void* second = nullptr;
  EXPECT_OK(sim_pool_alloc(0, 1000, stream(), &first));
  EXPECT(stats().allocated_bytes[SIM_POOL_ALL].current - before.allocated_bytes[SIM_POOL_ALL].current == 1024);
  EXPECT(stats().requested_bytes[SIM_POOL_ALL].current - before.requested_bytes[SIM_POOL_ALL].current == 1000);
  EXPECT_OK(sim_pool_free(first));
  EXPECT(stats().allocated_bytes[SIM_POOL_ALL].current == before.allocated_bytes[SIM_POOL_ALL].current);
  EXPECT_OK(sim_pool_alloc(0, 1000, stream(), &second));
  EXPECT(first == second);
  EXPECT_OK(sim_pool_free(second));
  EXPECT_STATUS(sim_pool_free(second), SIM_INVALID_POINTER);
}

TEST(another_stream_gets_another_block) {
  void* first = nullptr;
  void* second = nullptr;
  EXPECT_OK(sim_pool_alloc(0, 1000, stream(1), &first));
  EXPECT_OK(sim_pool_free(first));
  EXPECT_OK(sim_pool_alloc(0, 1000, stream(2), &second));
  EXPECT(first != second);
  EXPECT_OK(sim_pool_free(second));
}

TEST(a_recorded_stream_delays_reuse) {
  void* block = nullptr;
  void* other = nullptr;
  Gate gate;
  const sim_launch_desc desc = kernel(wait_at_gate, &gate);
  EXPECT_OK(sim_pool_alloc(0, 5000, stream(1), &block));
  EXPECT_OK(sim_launch(stream(2), &desc));
  EXPECT_OK(sim_pool_record_stream(block, stream(2)));
  EXPECT_OK(sim_pool_free(block));
  EXPECT_OK(sim_pool_alloc(0, 5000, stream(1), &other));
  EXPECT(block != other);
  EXPECT_OK(sim_pool_free(other));
  gate.open = true;
  EXPECT_OK(sim_device_synchronize(0));
  (void)stats();  // notices that the event is reached
  EXPECT_OK(sim_pool_empty_cache(0));
  EXPECT(stats().active_bytes[SIM_POOL_ALL].current == 0);
}

TEST(empty_cache_gives_memory_back) {
  void* block = nullptr;
  EXPECT_OK(sim_pool_alloc(0, 30 << 20, stream(), &block));
  EXPECT(stats().reserved_bytes[SIM_POOL_LARGE].current >= 30 << 20);
  EXPECT_OK(sim_pool_free(block));
  EXPECT_OK(sim_pool_empty_cache(0));
  EXPECT(stats().reserved_bytes[SIM_POOL_ALL].current == 0);
  EXPECT(stats().inactive_split_bytes[SIM_POOL_ALL].current == 0);
}

TEST(cached_blocks_yield_before_memory_runs_out) {
  void* block = nullptr;
  size_t free = 0;
  size_t total = 0;
  EXPECT_OK(sim_pool_empty_cache(1));
  EXPECT_OK(sim_device_memory_info(1, &free, &total));
  EXPECT_OK(sim_device_set_memory_limit(1, 64 << 20));
  EXPECT_OK(sim_pool_alloc(1, 40 << 20, stream(0, 1), &block));
  EXPECT_OK(sim_pool_free(block));
  EXPECT_OK(sim_pool_alloc(1, 60 << 20, stream(0, 1), &block));
  EXPECT(stats(1).alloc_retries >= 1);
  void* too_much = nullptr;
  EXPECT_STATUS(sim_pool_alloc(1, 60 << 20, stream(0, 1), &too_much), SIM_OUT_OF_MEMORY);
  EXPECT(stats(1).ooms >= 1);
  EXPECT_OK(sim_pool_free(block));
  EXPECT_OK(sim_pool_alloc(1, 1000, stream(0, 1), &block));
  EXPECT_OK(sim_pool_free(block));
  EXPECT_OK(sim_device_set_memory_limit(1, total));
}

TEST(an_injected_out_of_memory_is_not_mended_by_the_second_attempt) {
  void* block = nullptr;
  EXPECT_OK(sim_pool_empty_cache(0));
  EXPECT_OK(sim_fault_set("out-of-memory@malloc:1"));
  EXPECT_STATUS(sim_pool_alloc(0, 1000, stream(), &block), SIM_OUT_OF_MEMORY);
  EXPECT_OK(sim_pool_alloc(0, 1000, stream(), &block));
  EXPECT_OK(sim_pool_free(block));
  EXPECT_OK(sim_fault_set(""));
}

TEST(peaks_reset) {
  void* block = nullptr;
  EXPECT_OK(sim_pool_alloc(0, 3 << 20, stream(), &block));
  EXPECT_OK(sim_pool_free(block));
  EXPECT_OK(sim_pool_reset_stats(0, 1, 1));
  const sim_pool_stats now = stats();
  EXPECT(now.allocated_bytes[SIM_POOL_ALL].peak == now.allocated_bytes[SIM_POOL_ALL].current);
  EXPECT(now.allocation[SIM_POOL_ALL].allocated == 0 && now.device_allocs == 0);
}

namespace {

void write_byte(void* ptr, char byte) { EXPECT_OK(sim_memcpy(ptr, &byte, 1, stream())); }

char read_byte(void* ptr) {
  char byte = 0;
  EXPECT_OK(sim_memcpy(&byte, ptr, 1, stream()));
  return byte;
}

}  // namespace

TEST(shared_memory_is_the_same_memory) {
  void* first = nullptr;
  void* second = nullptr;
  void* opened = nullptr;
  EXPECT_OK(sim_pool_alloc(0, 700, stream(), &first));
  EXPECT_OK(sim_pool_alloc(0, 700, stream(), &second));  // not at the beginning of a page
  write_byte(second, 'a');
  sim_share share{};
  EXPECT_OK(sim_pool_share(second, &share));
  const sim_pool_stats before = stats();
  EXPECT_OK(sim_pool_open(&share, stream(), &opened));
  EXPECT(stats().allocated_bytes[SIM_POOL_ALL].current == before.allocated_bytes[SIM_POOL_ALL].current);
  EXPECT(opened != second);
  EXPECT(read_byte(opened) == 'a');
  write_byte(static_cast<char*>(opened) + 699, 'z');
  EXPECT(read_byte(static_cast<char*>(second) + 699) == 'z');
  EXPECT_STATUS(sim_pool_share(opened, &share), SIM_NOT_SHAREABLE);
  EXPECT(std::strstr(sim_last_error(), "received from another process") != nullptr);
  EXPECT_STATUS(sim_pool_share(static_cast<char*>(second) + 8, &share), SIM_NOT_SHAREABLE);
  for (void* ptr : {opened, first, second}) EXPECT_OK(sim_pool_free(ptr));
}

TEST(a_shared_block_is_reused_when_nobody_has_it) {
  const sim_pool_stats before = stats();
  void* ptr = nullptr;
  void* other = nullptr;
  void* opened = nullptr;
  sim_stream* own = stream(7);
  EXPECT_OK(sim_pool_alloc(0, 5000, own, &ptr));
  write_byte(ptr, 'a');
  sim_share share{};
  EXPECT_OK(sim_pool_share(ptr, &share));
  EXPECT_OK(sim_pool_free(ptr));
  EXPECT_OK(sim_pool_alloc(0, 5000, own, &other));
  EXPECT(other != ptr);  // on its way: only the descriptor has it
  EXPECT_OK(sim_pool_free(other));
  EXPECT_OK(sim_pool_open(&share, stream(), &opened));
  EXPECT_OK(sim_pool_empty_cache(0));
  EXPECT(read_byte(opened) == 'a');
  // Queued work keeps it, too.
  Gate gate;
  const sim_buffer buffer = {opened, 5000, 1};
  const sim_launch_desc busy = kernel(wait_at_gate, &gate, &buffer, 1);
  EXPECT_OK(sim_launch(stream(), &busy));
  EXPECT_OK(sim_pool_free(opened));
  EXPECT(stats().active[SIM_POOL_ALL].current == before.active[SIM_POOL_ALL].current + 1);
  gate.open = true;
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT_OK(sim_pool_alloc(0, 1, stream(), &other));  // looks after what waits
  EXPECT_OK(sim_pool_free(other));
  EXPECT(stats().active[SIM_POOL_ALL].current == before.active[SIM_POOL_ALL].current);
}

TEST(what_is_not_a_share_is_refused) {
  void* opened = nullptr;
  int pipes[2];
  EXPECT(pipe(pipes) == 0);
  const sim_share not_memory = {pipes[0], 0, 0, 100};
  const sim_share closed = {-1, 0, 0, 100};
  const sim_share of_no_device = {pipes[0], 9, 0, 100};
  EXPECT_STATUS(sim_pool_open(&not_memory, stream(), &opened), SIM_INVALID_VALUE);
  EXPECT_STATUS(sim_pool_open(&closed, stream(), &opened), SIM_INVALID_VALUE);
  EXPECT_STATUS(sim_pool_open(&of_no_device, stream(), &opened), SIM_INVALID_DEVICE);
  void* ptr = nullptr;
  EXPECT_OK(sim_pool_alloc(0, 100, stream(), &ptr));
  sim_share share{};
  EXPECT_OK(sim_pool_share(ptr, &share));
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1} << 40, ~uint64_t{0}}) {
    const sim_share beyond = {share.file, 0, share.offset, bytes};
    EXPECT_STATUS(sim_pool_open(&beyond, stream(), &opened), SIM_INVALID_VALUE);
  }
  for (const int file : {pipes[0], pipes[1], share.file}) EXPECT(close(file) == 0);  // still the caller's
  EXPECT_OK(sim_pool_free(ptr));
  EXPECT_STATUS(sim_pool_share(ptr, &share), SIM_NOT_SHAREABLE);
}
