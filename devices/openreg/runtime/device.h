// The table of devices: limits, health, and how much memory is mapped.
#pragma once

#include <atomic>
#include <cstddef>

#include "status.h"

namespace sim {

struct Device {
  std::atomic<bool> lost{false};
  // Rises with every reset, so that work queued before it can be told apart.
  std::atomic<unsigned> generation{0};
  std::atomic<size_t> limit{0};
  std::atomic<size_t> used{0};
};

constexpr int kMaxDevices = 16;

// Requires 0 <= index < sim_device_count().
Device& device_at(int index);

// SIM_INVALID_DEVICE, SIM_DEVICE_LOST, SIM_BAD_FORK or SIM_OK.
sim_status check_device(int index);

// The same for questions that neither need a healthy device nor initialise one.
sim_status check_readable(int index);

}  // namespace sim
