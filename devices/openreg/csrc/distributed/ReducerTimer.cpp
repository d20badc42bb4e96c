// torch/csrc/distributed/c10d/reducer_timer.hpp: how long DDP's phases take on
// the device.
//
// Thread safety: like every timer, used by the reducer with its lock held.
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include <array>

#include "../Runtime.h"
#include "../Streams.h"

namespace openreg {
namespace {

class ReducerTimer final : public c10d::Timer {
 public:
  explicit ReducerTimer(c10::Device device) : device_(index_or_current(device)) {}
  ~ReducerTimer() override {
    for (sim_event* event : events_) {
      if (event != nullptr) (void)sim_event_destroy(event);
    }
  }
  ReducerTimer(const ReducerTimer&) = delete;
  ReducerTimer& operator=(const ReducerTimer&) = delete;

  void record(Event phase) override {
    Timer::record(phase);  // the time on the host
    sim_event*& event = at(phase);
    if (event == nullptr) check(sim_event_create(device_, 1, &event));
    check(sim_event_record(event, current_handle(device_)));
  }

  std::optional<int64_t> measureDifference(Event start, Event end) override {
    if (at(start) == nullptr || at(end) == nullptr) return std::nullopt;
    check(sim_event_synchronize(at(start)));
    check(sim_event_synchronize(at(end)));
    double milliseconds = 0;
    check(sim_event_elapsed_ms(at(start), at(end), &milliseconds));
    // A phase that did not happen in this iteration has an event from before.
    if (milliseconds < 0) return std::nullopt;
    return static_cast<int64_t>(milliseconds * 1e6);
  }

 private:
  sim_event*& at(Event phase) { return events_[static_cast<size_t>(phase)]; }

  const c10::DeviceIndex device_;
  std::array<sim_event*, 5> events_{};
};

}  // namespace
}  // namespace openreg

namespace c10d {
namespace {

C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kPrivateUse1, openreg::ReducerTimer);

}  // namespace
}  // namespace c10d
