// openreg_sim.h: callables as kernels.
#include "Launch.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <Python.h>

#include <cstdio>
#include <exception>

#include "../Streams.h"

namespace openreg {
namespace {

// Lets go of the interpreter's lock if this thread has it: the thread whose turn
// in the stream it is may need it to come to its end.
class WithoutInterpreter {
 public:
  WithoutInterpreter() : state_(Py_IsInitialized() != 0 && PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr) {}
  ~WithoutInterpreter() {
    if (state_ != nullptr) PyEval_RestoreThread(state_);
  }
  WithoutInterpreter(const WithoutInterpreter&) = delete;
  WithoutInterpreter& operator=(const WithoutInterpreter&) = delete;

 private:
  PyThreadState* state_;
};

int run_queued(void* arg, const sim_buffer* memory, char* error, size_t error_size) {
  Body* body = static_cast<Body*>(arg);
  for (const c10::Storage& host : body->hosts) HostViews::bind(host, (memory++)->ptr);
  try {
    // A worker thread starts with autograd on; kernels are below it.
    at::AutoDispatchBelowADInplaceOrView guard;
    body->run();
    return 0;
  } catch (const c10::Error& failure) {
    std::snprintf(error, error_size, "%s", failure.what_without_backtrace());
  } catch (const std::exception& failure) {
    std::snprintf(error, error_size, "%s", failure.what());
  } catch (...) {
    std::snprintf(error, error_size, "unknown exception");
  }
  return 1;
}

struct InlineBody {
  const HostViews& views;
  c10::function_ref<void()> run;
  std::exception_ptr caught;
};

int run_inline(void* arg, const sim_buffer* memory, char*, size_t) {
  InlineBody* body = static_cast<InlineBody*>(arg);
  body->views.bind_all(memory);
  try {
    body->run();
  } catch (...) {
    body->caught = std::current_exception();
  }
  body->views.unbind_all(memory);
  return 0;
}

}  // namespace

void launch_body(const char* name, c10::DeviceIndex device, const HostViews& views, std::unique_ptr<Body> body) {
  const HostViews::Buffers buffers = views.buffers();
  for (const HostViews::Pair& pair : views.pairs()) {
    if (pair.bytes > 0) body->hosts.push_back(pair.host);
  }
  sim_stream* stream = current_handle(device);
  const sim_launch_desc desc = {name, run_queued, [](void* arg) { delete static_cast<Body*>(arg); }, body.release(),
                                buffers.data(), buffers.size()};
  check(sim_launch(stream, &desc));
}

void launch_inline(const char* name, c10::DeviceIndex device, const HostViews& views, c10::function_ref<void()> body) {
  const HostViews::Buffers buffers = views.buffers();
  InlineBody inline_body{views, body, nullptr};
  const sim_launch_desc desc = {name, run_inline, nullptr, &inline_body, buffers.data(), buffers.size()};
  sim_stream* stream = current_handle(device);
  sim_status status = SIM_OK;
  {
    const WithoutInterpreter unlocked;
    status = sim_launch_inline(stream, &desc);
  }
  check(status);
  if (inline_body.caught) std::rethrow_exception(inline_body.caught);
}

void copy_now(void* destination, const void* source, size_t bytes, c10::DeviceIndex device) {
  sim_stream* stream = current_handle(device);
  sim_status status = SIM_OK;
  {
    const WithoutInterpreter unlocked;
    status = sim_memcpy(destination, source, bytes, stream);
  }
  check(status);
}

}  // namespace openreg
