// csrc/ops/Launch.cpp for a device whose memory the host cannot address.
#include "Launch.h"

#include <Python.h>
#include <c10/core/CPUAllocator.h>

#include <exception>
#include <memory>
#include <mutex>
#include <vector>

namespace mydevice {
namespace {

// One launch or copy at a time: a storage is written back whole, and would bring
// back old values of what another thread writes meanwhile. Who waits lets go of
// the interpreter's lock, which the launch that runs may need.
class Turn {
 public:
  Turn() {
    const bool holds = Py_IsInitialized() != 0 && PyGILState_Check() != 0;
    PyThreadState* const state = holds ? PyEval_SaveThread() : nullptr;
    mutex().lock();
    if (holds) PyEval_RestoreThread(state);
  }
  ~Turn() { mutex().unlock(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  static std::recursive_mutex& mutex() {
    static std::recursive_mutex instance;
    return instance;
  }
};

}  // namespace

// Runs the body on copies of the device's memory, in host memory.
void launch_inline(const char*, c10::DeviceIndex device, const HostViews& views, c10::function_ref<void()> body) {
  const Turn turn;
  const HostViews::Buffers blocks = views.buffers();
  HostViews::Buffers copies = blocks;
  std::vector<c10::DataPtr> memory;
  for (Buffer& copy : copies) {
    memory.push_back(c10::GetCPUAllocator()->allocate(copy.bytes));
    copy_now(memory.back().get(), copy.ptr, copy.bytes, device);
    copy.ptr = memory.back().get();
  }
  views.bind_all(copies.data());
  std::exception_ptr failure;
  try {
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  views.unbind_all(copies.data());
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].writes != 0) copy_now(blocks[i].ptr, copies[i].ptr, blocks[i].bytes, device);
  }
  if (failure) std::rethrow_exception(failure);
}

void launch_body(const char* name, c10::DeviceIndex device, const HostViews& views, std::unique_ptr<Body> body) {
  launch_inline(name, device, views, [&] { body->run(); });
}

void copy_now(void* destination, const void* source, size_t bytes, c10::DeviceIndex) {
  const Turn turn;
  if (card_owns(address_of(destination)) != 0) {
    check(card_send(address_of(destination), source, bytes));
  } else {
    check(card_fetch(destination, address_of(source), bytes));
  }
}

}  // namespace mydevice
