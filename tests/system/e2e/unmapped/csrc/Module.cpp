// torch/csrc/utils/pybind.h: the extension module torch_mydevice._C, with what
// torch.mydevice needs of the runtime beyond PyTorch's own accelerator API.
#include "Bindings.h"

#include <vector>

#include "Runtime.h"

namespace mydevice {
namespace {

// Made on first use: the static objects of the other files come in any order.
std::vector<Bindings::Function>& functions() {
  static std::vector<Bindings::Function> instance;
  return instance;
}

const Bindings runtime_bindings([](py::module_& m) {
  m.def("device_count", device_count);
  m.def("current_device", [] { return 0; });
  m.def("set_device", [](int device) { existing(static_cast<c10::DeviceIndex>(device)); });
  m.def("synchronize", [](int device) { existing(static_cast<c10::DeviceIndex>(device)); });
  m.def("is_initialized", [] { return card_open() != 0; });
  m.def("is_in_bad_fork", [] { return card_forked() != 0; });
});

}  // namespace

Bindings::Bindings(Function bind) { functions().push_back(bind); }

void Bindings::bind_all(py::module_& module) {
  for (const Function bind : functions()) bind(module);
}

PYBIND11_MODULE(_C, m) { Bindings::bind_all(m); }

}  // namespace mydevice
