// Events: a version that rises with each record, and the last version reached.
#include <chrono>
#include <condition_variable>
#include <memory>

#include "device.h"
#include "stream.h"

namespace {

using Clock = std::chrono::steady_clock;

// Shared with the tasks that refer to it, so that an event may be destroyed
// while its record is still in a queue.
struct State {
  sim::Mutex mutex;
  std::condition_variable reached;
  uint64_t recorded SIM_GUARDED_BY(mutex) = 0;
  uint64_t done SIM_GUARDED_BY(mutex) = 0;
  Clock::time_point when SIM_GUARDED_BY(mutex);
};

// The stream has come to where the event was recorded.
struct Reach final : sim::Task {
  std::shared_ptr<State> state;
  uint64_t version;
  Reach(std::shared_ptr<State> state, uint64_t version) : state(std::move(state)), version(version) {}
  void run() override {
    {
      sim::Lock lock(state->mutex);
      if (version > state->done) {
        state->done = version;
        state->when = Clock::now();
      }
    }
    state->reached.notify_all();
  }
};

void wait_until_reached(State& state, uint64_t version) {
  sim::Lock lock(state.mutex);
  while (state.done < version) lock.wait(state.reached);
}

// A stream waits, on behalf of what is queued behind.
struct Await final : sim::Task {
  std::shared_ptr<State> state;
  uint64_t version;
  Await(std::shared_ptr<State> state, uint64_t version) : state(std::move(state)), version(version) {}
  void run() override { wait_until_reached(*state, version); }
};

}  // namespace

struct sim_event {
  int device;
  bool timing;
  std::shared_ptr<State> state = std::make_shared<State>();
};

namespace {

sim_status check_event(const sim_event* event) {
  if (event == nullptr) return sim::fail(SIM_INVALID_VALUE, "the event must not be null");
  return sim::check_device(event->device);
}

}  // namespace

sim_status sim_event_create(int device, int timing, sim_event** out) {
  SIM_RETURN_IF(sim::check_device(device));
  *out = new sim_event{device, timing != 0};
  return SIM_OK;
}

sim_status sim_event_destroy(sim_event* event) {
  delete event;
  return SIM_OK;
}

sim_status sim_event_record(sim_event* event, sim_stream* stream) {
  SIM_RETURN_IF(sim::check_stream(stream));
  SIM_RETURN_IF(check_event(event));
  if (event->device != stream->device) {
    return sim::fail(SIM_INVALID_VALUE, "an event of device %d cannot be recorded on device %d", event->device,
                     stream->device);
  }
  std::shared_ptr<State> state = event->state;
  uint64_t version = 0;
  {
    sim::Lock lock(state->mutex);
    version = ++state->recorded;
  }
  sim::enqueue(stream, std::make_unique<Reach>(std::move(state), version));
  return SIM_OK;
}

sim_status sim_event_query(sim_event* event) {
  SIM_RETURN_IF(check_event(event));
  sim::Lock lock(event->state->mutex);
  if (event->state->done < event->state->recorded) return sim::fail(SIM_NOT_READY, "the event is not reached yet");
  return SIM_OK;
}

sim_status sim_event_synchronize(sim_event* event) {
  SIM_RETURN_IF(check_event(event));
  State& state = *event->state;
  sim::Lock lock(state.mutex);
  const uint64_t version = state.recorded;
  while (state.done < version) lock.wait(state.reached);
  return SIM_OK;
}

sim_status sim_stream_wait_event(sim_stream* stream, sim_event* event) {
  SIM_RETURN_IF(sim::check_stream(stream));
  SIM_RETURN_IF(check_event(event));
  std::shared_ptr<State> state = event->state;
  uint64_t version = 0;
  {
    sim::Lock lock(state->mutex);
    version = state->recorded;
    if (state->done >= version) return SIM_OK;
  }
  sim::enqueue(stream, std::make_unique<Await>(std::move(state), version));
  return SIM_OK;
}

sim_status sim_event_elapsed_ms(sim_event* start, sim_event* end, double* ms) {
  SIM_RETURN_IF(check_event(start));
  SIM_RETURN_IF(check_event(end));
  if (!start->timing || !end->timing) {
    return sim::fail(SIM_TIMING_OFF, "both events must be created with timing enabled");
  }
  Clock::time_point times[2];
  sim_event* events[2] = {start, end};
  for (int i = 0; i < 2; ++i) {
    State& state = *events[i]->state;
    sim::Lock lock(state.mutex);
    if (state.recorded == 0) return sim::fail(SIM_INVALID_VALUE, "both events must be recorded first");
    if (state.done < state.recorded) return sim::fail(SIM_NOT_READY, "both events must be completed first");
    times[i] = state.when;
  }
  *ms = std::chrono::duration<double, std::milli>(times[1] - times[0]).count();
  return SIM_OK;
}
