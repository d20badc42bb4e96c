// c10/util/Exception.h: which exception type each runtime failure becomes.
#include "Runtime.h"

#include <string>

namespace openreg {

void check(sim_status status) {
  if (C10_LIKELY(status == SIM_OK)) return;
  const std::string text = std::string(sim_last_error()) + " [" + sim_status_name(status) + "]";
  switch (status) {
    case SIM_OUT_OF_MEMORY:
      TORCH_CHECK_WITH(OutOfMemoryError, false, "openreg out of memory. ", text);
    case SIM_LAUNCH_FAILED:
    case SIM_DEVICE_LOST:
      throw c10::AcceleratorError({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, status,
                                  "openreg error: " + text);
    default:
      TORCH_CHECK(false, "openreg error: ", text);
  }
}

c10::DeviceIndex index_or_current(c10::Device device) {
  if (device.has_index()) return device.index();
  int current = 0;
  check(sim_device_get(&current));
  return static_cast<c10::DeviceIndex>(current);
}

}  // namespace openreg
