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
