#include <dirent.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "kernels.h"

namespace {

sigjmp_buf touched;

// Whether this thread may read and write the byte. In this process, because a
// forked child has no mapping of device memory at all.
bool faults(void* address) {
  struct sigaction before_segv;
  struct sigaction before_bus;
  struct sigaction action {};
  action.sa_handler = [](int) { siglongjmp(touched, 1); };
  sigaction(SIGSEGV, &action, &before_segv);
  sigaction(SIGBUS, &action, &before_bus);
  volatile bool faulted = true;
  if (sigsetjmp(touched, 1) == 0) {
    volatile char* byte = static_cast<volatile char*>(address);
    *byte = *byte;
    faulted = false;
  }
  sigaction(SIGSEGV, &before_segv, nullptr);
  sigaction(SIGBUS, &before_bus, nullptr);
  return faulted;
}

// What a child makes of it: its exit code, or -1 if a signal ended it.
template <class F>
int in_child(F body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const int signal : {SIGSEGV, SIGBUS}) std::signal(signal, SIG_DFL);  // no sanitizer's report
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Fill {
  char* data;
  size_t bytes;
  char value;
};

int fill(void* arg, const sim_buffer* memory, char*, size_t) {
  std::memset(memory[0].ptr, static_cast<const Fill*>(arg)->value, memory[0].bytes);
  return 0;
}

// Stays in the kernel until the test has looked around.
struct Meeting {
  Gate gate;
  void* window = nullptr;
};

int meet(void* arg, const sim_buffer* memory, char*, size_t) {
  Meeting* meeting = static_cast<Meeting*>(arg);
  meeting->window = memory[0].ptr;
  std::memset(memory[0].ptr, 'k', memory[0].bytes);
  return wait_at_gate(&meeting->gate, nullptr, nullptr, 0);
}

int try_device_pointer(void* arg, const sim_buffer*, char*, size_t) {
  void** pointer = static_cast<void**>(arg);
  *pointer = faults(*pointer) ? nullptr : *pointer;
  return 0;
}

int count_mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("openreg") != std::string::npos ? 1 : 0;
  return count;
}

int count_descriptors() {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

// Pages of shared memory that this process holds.
size_t shared_pages() {
  size_t all = 0;
  size_t resident = 0;
  size_t shared = 0;
  std::ifstream("/proc/self/statm") >> all >> resident >> shared;
  return shared;
}

}  // namespace

TEST(host_code_cannot_touch_device_memory_even_while_a_kernel_runs) {
  void* ptr = nullptr;
  EXPECT_OK(sim_malloc(0, 100, &ptr));
  EXPECT(faults(ptr));
  Meeting meeting;
  const sim_buffer buffer = {ptr, 100, 1};
  const sim_launch_desc desc = kernel(meet, &meeting, &buffer, 1);
  EXPECT_OK(sim_launch(stream(), &desc));
  while (!meeting.gate.entered) std::this_thread::yield();
  EXPECT(faults(ptr));
  EXPECT(meeting.window != ptr);
  meeting.gate.open = true;
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT(faults(ptr));
  EXPECT_OK(sim_free(ptr));
}

TEST(a_kernel_gets_at_nothing_by_its_device_pointer) {
  void* ptr = nullptr;
  EXPECT_OK(sim_malloc(0, 100, &ptr));
  void* touched_ptr = ptr;
  const sim_launch_desc desc = kernel(try_device_pointer, &touched_ptr);
  EXPECT_OK(sim_launch(stream(), &desc));
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT(touched_ptr == nullptr);
  EXPECT_OK(sim_free(ptr));
}

TEST(the_window_shows_the_same_memory_in_every_kernel) {
  void* ptr = nullptr;
  EXPECT_OK(sim_malloc(0, 3 * 4096, &ptr));
  char* data = static_cast<char*>(ptr);
  Meeting first;
  Meeting second;
  first.gate.open = second.gate.open = true;
  const sim_buffer whole = {data, 3 * 4096, 1};
  const sim_buffer part = {data + 5000, 10, 1};
  const sim_launch_desc on_whole = kernel(meet, &first, &whole, 1);
  const sim_launch_desc on_part = kernel(meet, &second, &part, 1);
  EXPECT_OK(sim_launch(stream(), &on_whole));
  EXPECT_OK(sim_launch_inline(stream(), &on_part));
  EXPECT(static_cast<char*>(second.window) - static_cast<char*>(first.window) == 5000);
  char host[2] = "";
  EXPECT_OK(sim_memcpy(host, data + 5009, 2, stream()));
  EXPECT(host[0] == 'k' && host[1] == 'k');
  // The two mappings are of one memory: only here is the first one ever opened.
  EXPECT(mprotect(ptr, 3 * 4096, PROT_READ) == 0);
  EXPECT(data[0] == 'k' && data[5009] == 'k');
  EXPECT_OK(sim_free(ptr));
}

TEST(a_buffer_that_leaves_its_allocation_is_an_error) {
  void* ptr = nullptr;
  EXPECT_OK(sim_malloc(0, 3 * 4096, &ptr));
  Fill job = {static_cast<char*>(ptr), 0, 'x'};
  const sim_buffer buffer = {job.data + 4096, 3 * 4096, 1};
  const sim_launch_desc desc = kernel(fill, &job, &buffer, 1);
  EXPECT_OK(sim_launch(stream(), &desc));
  EXPECT_STATUS(sim_stream_synchronize(stream()), SIM_INVALID_POINTER);
  EXPECT_OK(sim_free(ptr));
}

TEST(memory_goes_back_to_the_system) {
  constexpr size_t kBytes = 32 << 20;
  const int mappings = count_mappings();
  const int descriptors = count_descriptors();
  const size_t pages = shared_pages();
  void* ptr = nullptr;
  EXPECT_OK(sim_malloc(0, kBytes, &ptr));
  EXPECT(count_mappings() == mappings + 2);
  EXPECT(count_descriptors() == descriptors + 1);  // for sharing
  Fill job = {static_cast<char*>(ptr), kBytes, 'x'};
  const sim_buffer buffer = {ptr, kBytes, 1};
  const sim_launch_desc desc = kernel(fill, &job, &buffer, 1);
  EXPECT_OK(sim_launch_inline(stream(), &desc));
  const size_t touched_pages = kBytes / static_cast<size_t>(sysconf(_SC_PAGESIZE));
  EXPECT(shared_pages() >= pages + touched_pages);
  EXPECT_OK(sim_free(ptr));
  EXPECT(shared_pages() < pages + touched_pages / 2);
  EXPECT(count_mappings() == mappings);
  EXPECT(count_descriptors() == descriptors);
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

TEST(a_forked_child_is_refused_and_cannot_reach_its_parent_s_memory) {
  void* ptr = nullptr;
  EXPECT_OK(sim_malloc(0, 10, &ptr));
  EXPECT(in_child([] {
    void* other = nullptr;
    return sim_malloc(0, 10, &other) == SIM_BAD_FORK ? 7 : 0;
  }) == 7);
  Meeting meeting;
  meeting.gate.open = true;
  const sim_buffer buffer = {ptr, 10, 1};
  const sim_launch_desc desc = kernel(meet, &meeting, &buffer, 1);
  EXPECT_OK(sim_launch_inline(stream(), &desc));
  EXPECT(!faults(meeting.window));
  EXPECT(in_child([&] {
    *static_cast<volatile char*>(meeting.window) = 1;
    return 0;
  }) == -1);
  EXPECT_OK(sim_free(ptr));
}
