// openreg_sim.h: launching C++ callables as kernels on the current stream.
#pragma once

#include <functional>
#include <vector>

#include "../Runtime.h"

namespace openreg {

// Queues the body and returns. What the body throws is reported by the next
// synchronisation of the stream. It must not own Python objects: it dies on the
// worker thread, while the caller may be waiting with the interpreter's lock.
void launch(const char* name, c10::DeviceIndex device, const std::vector<sim_buffer>& buffers,
            std::function<void()> body);

// Waits for the stream, then runs the body here. Rethrows what it throws.
void launch_inline(const char* name, c10::DeviceIndex device, const std::vector<sim_buffer>& buffers,
                   std::function<void()> body);

}  // namespace openreg
