#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "kernels.h"

TEST(a_wrong_specification_is_refused) {
  EXPECT_STATUS(sim_fault_set("nonsense"), SIM_INVALID_VALUE);
  EXPECT_STATUS(sim_fault_set("crash@nowhere"), SIM_INVALID_VALUE);
  EXPECT_STATUS(sim_fault_set("crash@launch:0"), SIM_INVALID_VALUE);
  EXPECT_OK(sim_fault_set("slow@launch:3"));
  EXPECT_OK(sim_fault_set(""));
}

TEST(out_of_memory_comes_once) {
  void* ptr = nullptr;
  EXPECT_OK(sim_fault_set("out-of-memory@malloc:2"));
  EXPECT_OK(sim_malloc(0, 10, &ptr));
  EXPECT_OK(sim_free(ptr));
  EXPECT_STATUS(sim_malloc(0, 10, &ptr), SIM_OUT_OF_MEMORY);
  EXPECT_OK(sim_malloc(0, 10, &ptr));
  EXPECT_OK(sim_free(ptr));
}

TEST(a_lost_device_comes_back_with_a_reset) {
  int counter = 0;
  const sim_launch_desc desc = kernel(increment, &counter);
  sim_stream* queue = stream();  // a lost device gives none
  EXPECT_OK(sim_fault_set("lost-device@launch:2"));
  // The third is refused or dropped: the loss comes when the second runs.
  for (int i = 0; i < 3; ++i) (void)sim_launch(queue, &desc);
  while (sim_stream_synchronize(queue) == SIM_OK) std::this_thread::yield();
  EXPECT_STATUS(sim_stream_query(queue), SIM_DEVICE_LOST);
  EXPECT(counter == 1);
  void* ptr = nullptr;
  EXPECT_STATUS(sim_malloc(0, 10, &ptr), SIM_DEVICE_LOST);
  EXPECT_OK(sim_malloc(1, 10, &ptr));  // the other one is fine
  EXPECT_OK(sim_free(ptr));
  EXPECT_OK(sim_device_reset(0));
  EXPECT_OK(sim_launch(stream(), &desc));
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT(counter == 2);
}

TEST(a_hung_kernel_ends_with_a_reset) {
  int counter = 0;
  const sim_launch_desc desc = kernel(increment, &counter);
  EXPECT_OK(sim_fault_set("hang"));
  EXPECT_OK(sim_launch(stream(), &desc));
  EXPECT_OK(sim_launch(stream(), &desc));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_STATUS(sim_stream_query(stream()), SIM_NOT_READY);
  EXPECT_OK(sim_device_reset(0));
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT(counter == 0);
}

TEST(a_wrong_result_is_wrong) {
  void* ptr = nullptr;
  char zeros[16] = "";
  char out[16] = "";
  EXPECT_OK(sim_malloc(0, 16, &ptr));
  EXPECT_OK(sim_fault_set("wrong-result@copy:2"));
  EXPECT_OK(sim_memcpy_async(ptr, zeros, 16, stream()));
  EXPECT_OK(sim_memcpy_async(out, ptr, 16, stream()));
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT(std::memcmp(zeros, out, 16) != 0);
  EXPECT_OK(sim_free(ptr));
}

TEST(a_slow_kernel_is_slow) {
  int counter = 0;
  const sim_launch_desc desc = kernel(increment, &counter);
  EXPECT_OK(sim_fault_set("slow"));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_OK(sim_launch_inline(stream(), &desc));
  EXPECT(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(90));
  EXPECT(counter == 1);
}
