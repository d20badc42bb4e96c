// openreg_sim.h: callables as kernels.
#include "Launch.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <cstdio>
#include <exception>

#include "../Streams.h"

namespace openreg {
namespace {

struct Body {
  std::function<void()> run;
  std::exception_ptr* caught;  // null for queued kernels
};

int run_body(void* arg, char* error, size_t error_size) {
  const Body* body = static_cast<const Body*>(arg);
  try {
    if (body->caught != nullptr) {
      body->run();
    } else {
      // A worker thread starts with autograd on; kernels are below it.
      at::AutoDispatchBelowADInplaceOrView guard;
      body->run();
    }
    return 0;
  } catch (...) {
    if (body->caught != nullptr) {
      *body->caught = std::current_exception();
      return 0;
    }
    try {
      throw;
    } catch (const c10::Error& failure) {
      std::snprintf(error, error_size, "%s", failure.what_without_backtrace());
    } catch (const std::exception& failure) {
      std::snprintf(error, error_size, "%s", failure.what());
    } catch (...) {
      std::snprintf(error, error_size, "unknown exception");
    }
    return 1;
  }
}

sim_launch_desc describe(const char* name, const std::vector<sim_buffer>& buffers, Body* body) {
  return {name, run_body, [](void* arg) { delete static_cast<Body*>(arg); }, body, buffers.data(), buffers.size()};
}

}  // namespace

void launch(const char* name, c10::DeviceIndex device, const std::vector<sim_buffer>& buffers,
            std::function<void()> body) {
  const sim_launch_desc desc = describe(name, buffers, new Body{std::move(body), nullptr});
  check(sim_launch(current_handle(device), &desc));
}

void launch_inline(const char* name, c10::DeviceIndex device, const std::vector<sim_buffer>& buffers,
                   std::function<void()> body) {
  std::exception_ptr caught;
  const sim_launch_desc desc = describe(name, buffers, new Body{std::move(body), &caught});
  check(sim_launch_inline(current_handle(device), &desc));
  if (caught) std::rethrow_exception(caught);
}

}  // namespace openreg
