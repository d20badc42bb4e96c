#include <cstring>
#include <ctime>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "kernels.h"

TEST(a_launch_returns_before_the_work_is_done) {
  Gate gate;
  const sim_launch_desc desc = kernel(wait_at_gate, &gate);
  EXPECT_OK(sim_launch(stream(), &desc));
  EXPECT_STATUS(sim_stream_query(stream()), SIM_NOT_READY);
  while (!gate.entered) std::this_thread::yield();
  EXPECT_STATUS(sim_stream_query(stream()), SIM_NOT_READY);
  gate.open = true;
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT_OK(sim_stream_query(stream()));
}

TEST(a_stream_keeps_its_order) {
  int counter = 0;
  const sim_launch_desc desc = kernel(increment, &counter);
  for (int i = 0; i < 1000; ++i) EXPECT_OK(sim_launch(stream(), &desc));
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT(counter == 1000);
}

TEST(streams_do_not_wait_for_each_other) {
  Gate gate;
  int counter = 0;
  const sim_launch_desc blocked = kernel(wait_at_gate, &gate);
  const sim_launch_desc free = kernel(increment, &counter);
  EXPECT_OK(sim_launch(stream(1), &blocked));
  EXPECT_OK(sim_launch(stream(2), &free));
  EXPECT_OK(sim_stream_synchronize(stream(2)));
  EXPECT(counter == 1);
  gate.open = true;
  EXPECT_OK(sim_device_synchronize(0));
}

TEST(an_inline_kernel_has_its_turn_as_any_other) {
  Gate gate;
  int counter = 0;
  const sim_launch_desc blocked = kernel(wait_at_gate, &gate);
  const sim_launch_desc behind = kernel(increment, &counter);
  std::thread other([&] { EXPECT_OK(sim_launch_inline(stream(), &blocked)); });
  while (!gate.entered) std::this_thread::yield();
  EXPECT_STATUS(sim_stream_query(stream()), SIM_NOT_READY);
  EXPECT_OK(sim_launch(stream(), &behind));
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT(counter == 0);  // no overtaking; a race here would be the sanitizer's find
  gate.open = true;
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT(counter == 1);
  other.join();
}

TEST(an_inline_kernel_may_use_its_own_stream) {
  int counter = 0;
  const auto nested = [](void* arg, const sim_buffer*, char*, size_t) {
    const sim_launch_desc inner = kernel(increment, arg);
    EXPECT_OK(sim_launch(stream(), &inner));
    EXPECT_OK(sim_launch_inline(stream(), &inner));
    EXPECT_OK(sim_stream_synchronize(stream()));
    return 0;
  };
  const sim_launch_desc outer = kernel(nested, &counter);
  EXPECT_OK(sim_launch_inline(stream(), &outer));
  EXPECT(counter == 2);
}

TEST(inline_and_queued_kernels_of_many_threads_exclude_each_other) {
  int counter = 0;
  const sim_launch_desc desc = kernel(increment, &counter);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        EXPECT_OK((i + round) % 2 == 0 ? sim_launch_inline(stream(), &desc) : sim_launch(stream(), &desc));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT(counter == 800);
}

TEST(a_worker_sleeps_when_it_has_nothing_to_do) {
  // Each stream of both devices has worked once; then nobody must use the CPU.
  std::vector<int> counters[2];
  for (int device = 0; device < 2; ++device) {
    counters[device].resize(static_cast<size_t>(sim_stream_count()));
    for (int index = 0; index < sim_stream_count(); ++index) {
      const sim_launch_desc desc = kernel(increment, &counters[device][index]);
      EXPECT_OK(sim_launch(stream(index, device), &desc));
    }
    EXPECT_OK(sim_device_synchronize(device));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::clock_t before = std::clock();  // of all threads
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT(std::clock() - before < CLOCKS_PER_SEC / 20);
}

TEST(an_event_orders_streams) {
  for (int round = 0; round < 50; ++round) {
    Gate gate;
    int counter = 0;
    sim_event* event = nullptr;
    EXPECT_OK(sim_event_create(0, 0, &event));
    EXPECT_OK(sim_event_query(event));  // never recorded
    const sim_launch_desc first = kernel(wait_at_gate, &gate);
    const sim_launch_desc second = kernel(increment, &counter);
    EXPECT_OK(sim_launch(stream(1), &first));
    EXPECT_OK(sim_launch(stream(1), &second));
    EXPECT_OK(sim_event_record(event, stream(1)));
    EXPECT_OK(sim_stream_wait_event(stream(2), event));
    EXPECT_OK(sim_launch(stream(2), &second));
    EXPECT_STATUS(sim_event_query(event), SIM_NOT_READY);
    EXPECT_STATUS(sim_stream_query(stream(2)), SIM_NOT_READY);
    // The queues hold what they need of it.
    EXPECT_OK(sim_event_destroy(event));
    gate.open = true;
    EXPECT_OK(sim_stream_synchronize(stream(2)));
    EXPECT(counter == 2);
  }
}

TEST(elapsed_time_needs_timing_and_completion) {
  sim_event* start = nullptr;
  sim_event* end = nullptr;
  sim_event* untimed = nullptr;
  EXPECT_OK(sim_event_create(0, 1, &start));
  EXPECT_OK(sim_event_create(0, 1, &end));
  EXPECT_OK(sim_event_create(0, 0, &untimed));
  double ms = -1;
  EXPECT_STATUS(sim_event_elapsed_ms(start, end, &ms), SIM_INVALID_VALUE);
  EXPECT_STATUS(sim_event_elapsed_ms(start, untimed, &ms), SIM_TIMING_OFF);
  Gate gate;
  const sim_launch_desc desc = kernel(wait_at_gate, &gate);
  EXPECT_OK(sim_event_record(start, stream()));
  EXPECT_OK(sim_launch(stream(), &desc));
  EXPECT_OK(sim_event_record(end, stream()));
  EXPECT_STATUS(sim_event_elapsed_ms(start, end, &ms), SIM_NOT_READY);
  while (!gate.entered) std::this_thread::yield();  // the start is behind us
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  gate.open = true;
  EXPECT_OK(sim_event_synchronize(end));
  EXPECT_OK(sim_event_elapsed_ms(start, end, &ms));
  EXPECT(ms >= 4);
  for (sim_event* event : {start, end, untimed}) EXPECT_OK(sim_event_destroy(event));
}

namespace {

// Kernels note that they ran, in order.
struct Note {
  std::vector<char>* order;
  char name;
};

int note(void* arg, const sim_buffer*, char*, size_t) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  const Note* noted = static_cast<Note*>(arg);
  noted->order->push_back(noted->name);
  return 0;
}

sim_stream* pooled(int priority) {
  int index = -1;
  EXPECT_OK(sim_stream_from_pool(0, priority, &index));
  return stream(index);
}

}  // namespace

TEST(kernels_of_an_urgent_stream_go_first) {
  for (int round = 0; round < 50; ++round) {
    std::vector<char> order;
    Note usual = {&order, 'u'};
    Note urgent = {&order, '!'};
    Gate gate;
    sim_stream* first = pooled(-1);
    sim_stream* queued = pooled(0);
    const sim_launch_desc busy = kernel(wait_at_gate, &gate);
    const sim_launch_desc noted = kernel(note, &usual);
    const sim_launch_desc noted_urgently = kernel(note, &urgent);
    EXPECT_OK(sim_launch(first, &busy));
    while (!gate.entered) std::this_thread::yield();
    EXPECT_OK(sim_launch(queued, &noted));
    std::thread inlined([&] { EXPECT_OK(sim_launch_inline(stream(), &noted)); });
    for (int i = 0; i < 3; ++i) EXPECT_OK(sim_launch_inline(pooled(-1), &noted_urgently));
    EXPECT(order == std::vector<char>(3, '!'));
    gate.open = true;
    inlined.join();
    EXPECT_OK(sim_device_synchronize(0));
    EXPECT(order == std::vector<char>({'!', '!', '!', 'u', 'u'}));
  }
}

TEST(an_urgent_stream_may_wait_for_a_usual_one) {
  Gate gate;
  int counter = 0;
  sim_event* event = nullptr;
  EXPECT_OK(sim_event_create(0, 0, &event));
  sim_stream* urgent = pooled(-1);
  sim_stream* usual = pooled(0);
  const sim_launch_desc first = kernel(wait_at_gate, &gate);
  const sim_launch_desc second = kernel(increment, &counter);
  EXPECT_OK(sim_launch(usual, &first));
  EXPECT_OK(sim_launch(usual, &second));
  EXPECT_OK(sim_event_record(event, usual));
  EXPECT_OK(sim_stream_wait_event(urgent, event));
  EXPECT_OK(sim_launch(urgent, &second));
  gate.open = true;
  EXPECT_OK(sim_stream_synchronize(urgent));
  EXPECT(counter == 2);
  EXPECT_OK(sim_event_destroy(event));
}

TEST(the_pools_of_streams_go_round) {
  std::set<sim_stream*> streams[2];
  for (int i = 0; i < sim_stream_count(); ++i) {
    streams[0].insert(pooled(0));
    streams[1].insert(pooled(-1));
  }
  EXPECT(streams[0].size() == 32 && streams[1].size() == 32);
  EXPECT(streams[0].count(stream()) == 0);
  streams[0].merge(streams[1]);
  EXPECT(streams[0].size() == 64);
  int index = -1;
  for (const int priority : {1, -2, 1000, -1000}) {
    EXPECT_STATUS(sim_stream_from_pool(0, priority, &index), SIM_INVALID_VALUE);
  }
  EXPECT_STATUS(sim_stream_from_pool(2, 0, &index), SIM_INVALID_DEVICE);
}

TEST(a_failed_kernel_is_reported_once) {
  const sim_launch_desc desc = kernel(fail_on_purpose, nullptr);
  EXPECT_OK(sim_launch(stream(), &desc));
  EXPECT_STATUS(sim_stream_synchronize(stream()), SIM_LAUNCH_FAILED);
  EXPECT(std::strstr(sim_last_error(), "on purpose") != nullptr);
  EXPECT_OK(sim_stream_synchronize(stream()));
  EXPECT_STATUS(sim_launch_inline(stream(), &desc), SIM_LAUNCH_FAILED);
}

TEST(many_threads_use_one_device) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      EXPECT_OK(sim_device_set(i % 2));
      int device = -1;
      EXPECT_OK(sim_device_get(&device));
      EXPECT(device == i % 2);
      sim_stream* own = stream(i % 4, device);
      for (int round = 0; round < 100; ++round) {
        void* ptr = nullptr;
        EXPECT_OK(sim_pool_alloc(device, 1000, own, &ptr));
        char host[1000] = "";
        EXPECT_OK(sim_memcpy_async(ptr, host, sizeof host, own));
        EXPECT_OK(sim_stream_synchronize(own));
        EXPECT_OK(sim_pool_free(ptr));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(bad_arguments_are_errors) {
  sim_stream* none = nullptr;
  EXPECT_STATUS(sim_device_set(99), SIM_INVALID_DEVICE);
  EXPECT_STATUS(sim_stream_get(0, 99, &none), SIM_INVALID_VALUE);
  EXPECT_STATUS(sim_stream_get(-1, 0, &none), SIM_INVALID_DEVICE);
  sim_event* event = nullptr;
  EXPECT_OK(sim_event_create(1, 0, &event));
  EXPECT_STATUS(sim_event_record(event, stream()), SIM_INVALID_VALUE);
  EXPECT_OK(sim_event_destroy(event));
  const sim_launch_desc desc = kernel(fail_on_purpose, nullptr);
  EXPECT_STATUS(sim_launch(nullptr, &desc), SIM_INVALID_VALUE);
  EXPECT_STATUS(sim_launch_inline(nullptr, &desc), SIM_INVALID_VALUE);
  EXPECT_STATUS(sim_stream_synchronize(nullptr), SIM_INVALID_VALUE);
  EXPECT_STATUS(sim_stream_query(nullptr), SIM_INVALID_VALUE);
  EXPECT_STATUS(sim_event_query(nullptr), SIM_INVALID_VALUE);
  EXPECT(std::strcmp(sim_status_name(SIM_BAD_FORK), "SIM_BAD_FORK") == 0);
}
