// openreg_sim.h: launching C++ callables as kernels on the current stream.
#pragma once

#include <c10/util/FunctionRef.h>
#include <c10/util/SmallVector.h>

#include <memory>
#include <utility>

#include "../Runtime.h"
#include "HostViews.h"

namespace openreg {

// A queued kernel: the callable and the host storages that the launch binds to
// the device's memory before it runs.
struct Body {
  Body() = default;
  virtual ~Body() = default;
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  virtual void run() = 0;
  c10::SmallVector<c10::Storage, 4> hosts;
};

template <class F>
struct BodyOf final : Body {
  explicit BodyOf(F function) : function(std::move(function)) {}
  void run() override { function(); }
  F function;
};

void launch_body(const char* name, c10::DeviceIndex device, const HostViews& views, std::unique_ptr<Body> body);

// Queues the body and returns. What the body throws is reported by the next
// synchronisation of the stream. It must not own Python objects: it dies on the
// worker thread, while the caller may be waiting with the interpreter's lock.
// The name must live as long as the process.
template <class F>
void launch(const char* name, c10::DeviceIndex device, const HostViews& views, F body) {
  launch_body(name, device, views, std::make_unique<BodyOf<F>>(std::move(body)));
}

// Waits for its turn in the stream, then runs the body here. Rethrows what it
// throws. Other threads may have the interpreter's lock meanwhile.
void launch_inline(const char* name, c10::DeviceIndex device, const HostViews& views, c10::function_ref<void()> body);

// As above for a copy; done when it returns.
void copy_now(void* destination, const void* source, size_t bytes, c10::DeviceIndex device);

}  // namespace openreg
