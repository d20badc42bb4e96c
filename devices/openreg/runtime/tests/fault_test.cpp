#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
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

namespace {

// The exit code of this program, started anew to run one test with a variable
// set; minus the signal that ended it. The environment is read once, so a fork
// would not do.
int run_again(const char* variable, const char* value, const char* test) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    setenv(variable, value, 1);
    for (const char* sanitizer : {"ASAN_OPTIONS", "TSAN_OPTIONS"}) setenv(sanitizer, "handle_segv=0", 1);
    std::freopen("/dev/null", "w", stdout);
    std::freopen("/dev/null", "w", stderr);
    execl("/proc/self/exe", "tests", test, static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST(a_wrong_variable_is_refused) {
  constexpr const char* kTest = "a_stream_keeps_its_order";
  EXPECT(run_again("OPENREG_FAULT", "", kTest) == 0);
  EXPECT(run_again("OPENREG_FAULT", "slow@launch:999999", kTest) == 0);
  EXPECT(run_again("OPENREG_FAULT", "crsh", kTest) == 1);
  EXPECT(run_again("OPENREG_FAULT", "crash@lunch:3", kTest) == 1);
  EXPECT(run_again("OPENREG_DEVICE_COUNT", "3", kTest) == 0);
  for (const char* count : {"abc", "0", "99", "-1", "2x"}) {
    EXPECT(run_again("OPENREG_DEVICE_COUNT", count, kTest) == 1);
  }
  EXPECT(run_again("OPENREG_MEMORY_LIMIT", "1000000000", kTest) == 0);
  EXPECT(run_again("OPENREG_MEMORY_LIMIT", "xyz", kTest) == 1);
}

TEST(a_crash_ends_the_process) {
  EXPECT(run_again("OPENREG_FAULT", "crash@launch:1000", "a_stream_keeps_its_order") == -SIGSEGV);
  EXPECT(run_again("OPENREG_FAULT", "crash@launch:1001", "a_stream_keeps_its_order") == 0);
}

TEST(a_device_can_be_lost_while_waiting) {
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT_OK(sim_fault_set("lost-device@sync:2"));
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT_STATUS(sim_stream_synchronize(stream()), SIM_DEVICE_LOST);
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

TEST(a_fault_spares_what_was_launched_before_it) {
  void* ptr = nullptr;
  char zeros[16] = "";
  char out[16] = "";
  Gate gate;
  const sim_launch_desc desc = kernel(wait_at_gate, &gate);
  EXPECT_OK(sim_malloc(0, 16, &ptr));
  EXPECT_OK(sim_launch(stream(), &desc));
  EXPECT_OK(sim_memcpy_async(ptr, zeros, 16, stream()));
  EXPECT_OK(sim_fault_set("wrong-result@copy:1"));
  gate.open = true;
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT_OK(sim_fault_set(""));
  EXPECT_OK(sim_memcpy_async(out, ptr, 16, stream()));
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT(std::memcmp(zeros, out, 16) == 0);
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
