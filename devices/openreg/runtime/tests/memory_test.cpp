#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

#include "kernels.h"

namespace {

// Runs `touch` in a child and tells whether it died of a signal.
template <class F>
bool dies(F touch) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);  // the sanitizers' report
    touch();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

struct Fill {
  char* data;
  size_t bytes;
  char value;
};

int fill(void* arg, char*, size_t) {
  const Fill* job = static_cast<Fill*>(arg);
  std::memset(job->data, job->value, job->bytes);
  return 0;
}

}  // namespace

TEST(host_code_cannot_touch_device_memory) {
  void* ptr = nullptr;
  EXPECT_OK(sim_malloc(0, 100, &ptr));
  EXPECT(dies([&] { *static_cast<volatile char*>(ptr) = 1; }));
  EXPECT_OK(sim_memory_open(ptr, 100));
  EXPECT(!dies([&] { *static_cast<volatile char*>(ptr) = 1; }));
  EXPECT_OK(sim_memory_close(ptr, 100));
  EXPECT(dies([&] { *static_cast<volatile char*>(ptr) = 1; }));
  EXPECT_OK(sim_free(ptr));
}

TEST(openings_are_counted) {
  void* ptr = nullptr;
  EXPECT_OK(sim_malloc(0, 3 * 4096, &ptr));
  char* data = static_cast<char*>(ptr);
  EXPECT_OK(sim_memory_open(data, 3 * 4096));
  EXPECT_OK(sim_memory_open(data + 4096, 4096));
  EXPECT_OK(sim_memory_close(data, 3 * 4096));
  data[4096] = 1;  // still open
  EXPECT(dies([&] { *static_cast<volatile char*>(data) = 1; }));
  EXPECT_OK(sim_memory_close(data + 4096, 4096));
  EXPECT_STATUS(sim_memory_open(data, 4 * 4096), SIM_INVALID_POINTER);
  EXPECT_OK(sim_free(ptr));
}

TEST(kernels_on_one_page_may_overlap) {
  void* ptr = nullptr;
  EXPECT_OK(sim_malloc(0, 4096, &ptr));
  char* data = static_cast<char*>(ptr);
  std::vector<Fill> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back({data + i * 1024, 1024, static_cast<char>('a' + i)});
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 4; ++i) {
      const sim_buffer buffer = {jobs[i].data, jobs[i].bytes, 1};
      const sim_launch_desc desc = kernel(fill, &jobs[i], &buffer, 1);
      EXPECT_OK(sim_launch(stream(i), &desc));
    }
  }
  EXPECT_OK(sim_device_synchronize(0));
  char host[4096];
  EXPECT_OK(sim_memcpy_async(host, data, 4096, stream()));
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT(host[0] == 'a' && host[1024] == 'b' && host[2048] == 'c' && host[4095] == 'd');
  EXPECT_OK(sim_free(ptr));
}

TEST(copies_go_everywhere) {
  void* first = nullptr;
  void* second = nullptr;
  EXPECT_OK(sim_malloc(0, 64, &first));
  EXPECT_OK(sim_malloc(1, 64, &second));
  char in[64];
  char out[64] = "";
  std::memset(in, 'x', sizeof in);
  EXPECT_OK(sim_memcpy_async(first, in, 64, stream()));
  EXPECT_OK(sim_memcpy_async(second, first, 64, stream()));
  EXPECT_OK(sim_memcpy_async(out, second, 64, stream()));
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT(std::memcmp(in, out, 64) == 0);
  EXPECT_OK(sim_free(first));
  EXPECT_OK(sim_free(second));
}

TEST(the_limit_is_an_error_that_one_recovers_from) {
  void* ptr = nullptr;
  size_t free_before = 0;
  size_t total = 0;
  EXPECT_OK(sim_device_memory_info(1, &free_before, &total));
  EXPECT_OK(sim_device_set_memory_limit(1, total - free_before + (1 << 20)));
  EXPECT_STATUS(sim_malloc(1, 2 << 20, &ptr), SIM_OUT_OF_MEMORY);
  EXPECT(std::strstr(sim_last_error(), "cannot map") != nullptr);
  EXPECT_OK(sim_malloc(1, 1 << 20, &ptr));
  EXPECT_OK(sim_free(ptr));
  EXPECT_OK(sim_device_set_memory_limit(1, total));
}

TEST(pointers_are_known) {
  void* device_ptr = nullptr;
  void* pinned = nullptr;
  EXPECT_OK(sim_malloc(1, 10, &device_ptr));
  EXPECT_OK(sim_host_alloc(10, &pinned));
  sim_memory_kind kind = SIM_MEMORY_OTHER;
  int device = -2;
  EXPECT_OK(sim_pointer_info(static_cast<char*>(device_ptr) + 5, &kind, &device));
  EXPECT(kind == SIM_MEMORY_DEVICE && device == 1);
  EXPECT_OK(sim_pointer_info(pinned, &kind, &device));
  EXPECT(kind == SIM_MEMORY_PINNED && device == -1);
  EXPECT_OK(sim_pointer_info(&kind, &kind, &device));
  EXPECT(kind == SIM_MEMORY_OTHER);
  EXPECT_STATUS(sim_free(pinned), SIM_INVALID_POINTER);
  EXPECT_STATUS(sim_host_free(device_ptr), SIM_INVALID_POINTER);
  EXPECT_OK(sim_free(device_ptr));
  EXPECT_OK(sim_host_free(pinned));
}

TEST(a_forked_child_is_refused) {
  void* ptr = nullptr;
  EXPECT_OK(sim_malloc(0, 10, &ptr));
  EXPECT(dies([] {
    void* other = nullptr;
    if (sim_malloc(0, 10, &other) == SIM_BAD_FORK) _exit(7);
  }));
  EXPECT_OK(sim_free(ptr));
}
