// csrc/ops/Launch.cpp for a device whose memory the host cannot address.
#include "Launch.h"

#include <Python.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace mydevice {
namespace {

// One launch or copy at a time: a storage is written back whole, and would bring
// back old values of what another thread writes meanwhile. Who waits lets go of
// the interpreter's lock, which the launch that runs may need.
class Turn {
 public:
  Turn() {
    // A thread that the fork left behind may have held the mutex.
    if (card_forked() != 0) check(CARD_FORKED);
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

// Storages that lie in the same memory, such as those of a DLPack exchange.
struct Span {
  char* begin;
  char* end;
  bool written;
  c10::DataPtr copy;

  size_t bytes() const { return static_cast<size_t>(end - begin); }
};

std::vector<Span> spans_of(const HostViews::Buffers& blocks) {
  std::vector<Span> spans;
  for (const Buffer& block : blocks) {
    char* const first = static_cast<char*>(block.ptr);
    Span whole{first, first + block.bytes, block.writes != 0, {}};
    for (auto other = spans.begin(); other != spans.end();) {
      if (other->end <= whole.begin || whole.end <= other->begin) {
        ++other;
        continue;
      }
      whole = {std::min(whole.begin, other->begin), std::max(whole.end, other->end), whole.written || other->written, {}};
      other = spans.erase(other);
    }
    spans.push_back(std::move(whole));
  }
  return spans;
}

}  // namespace

// Runs the body on copies of the device's memory, in host memory.
void launch_inline(const char*, c10::DeviceIndex device, const HostViews& views, c10::function_ref<void()> body) {
  const Turn turn;
  HostViews::Buffers copies = views.buffers();
  std::vector<Span> spans = spans_of(copies);
  for (Span& span : spans) {
    span.copy = c10::GetCPUAllocator()->allocate(span.bytes());
    copy_now(span.copy.get(), span.begin, span.bytes(), device);
    for (Buffer& block : copies) {
      char* const first = static_cast<char*>(block.ptr);
      if (span.begin <= first && first < span.end) block.ptr = static_cast<char*>(span.copy.get()) + (first - span.begin);
    }
  }
  views.bind_all(copies.data());
  std::exception_ptr failure;
  try {
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  views.unbind_all(copies.data());
  for (const Span& span : spans) {
    if (span.written) copy_now(span.begin, span.copy.get(), span.bytes(), device);
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
