// torch/csrc/utils/pybind.h: the extension module torch_openreg._C, with what
// torch.openreg needs of the runtime beyond PyTorch's own accelerator API.
#include "Bindings.h"

#include <vector>

#include "Runtime.h"

namespace openreg {
namespace {

// Made on first use: the static objects of the other files come in any order.
std::vector<Bindings::Function>& functions() {
  static std::vector<Bindings::Function> instance;
  return instance;
}

const Bindings runtime_bindings([](py::module_& m) {
  const py::call_guard<py::gil_scoped_release> without_gil;
  m.def("device_count", [] { return sim_device_count(); });
  m.def("current_device", [] { return static_cast<int>(index_or_current(c10::Device(kDeviceType))); });
  m.def("set_device", [](int device) { check(sim_device_set(device)); });
  m.def("synchronize", [](int device) { check(sim_device_synchronize(device)); }, without_gil);
  m.def("is_initialized", [] { return sim_initialized() != 0; });
  m.def("is_in_bad_fork", [] { return sim_bad_fork() != 0; });
  m.def("set_memory_limit", [](int device, size_t bytes) { check(sim_device_set_memory_limit(device, bytes)); });
  m.def("lose_device", [](int device) { check(sim_device_lose(device)); });
  m.def("reset_device", [](int device) { check(sim_device_reset(device)); }, without_gil);
  m.def("set_fault", [](const std::string& spec) { check(sim_fault_set(spec.c_str())); });
});

}  // namespace

Bindings::Bindings(Function bind) { functions().push_back(bind); }

void Bindings::bind_all(py::module_& module) {
  for (const Function bind : functions()) bind(module);
}

PYBIND11_MODULE(_C, m) {
  check(sim_check_environment());  // a wrong variable is heard of at import
  Bindings::bind_all(m);
}

}  // namespace openreg
