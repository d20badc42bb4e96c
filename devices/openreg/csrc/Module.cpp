// pybind11: what torch.openreg needs beyond PyTorch's own accelerator API.
#include <torch/csrc/Generator.h>
#include <torch/csrc/utils/pybind.h>

#include "CompiledKernels.h"
#include "Generator.h"
#include "PrivateFormat.h"
#include "Runtime.h"
#include "distributed/StagedBackend.h"
#include "ops/OperatorCounts.h"

namespace openreg {
namespace {

py::object generator_object(int device) {
  return py::reinterpret_steal<py::object>(
      THPGenerator_initDefaultGenerator(default_generator(static_cast<c10::DeviceIndex>(device))));
}

py::dict counts_as_dict() {
  py::dict result;
  for (const auto& [name, counts] : operator_counts()) {
    py::dict entry;
    entry["native"] = counts.native;
    entry["fallback"] = counts.fallback;
    result[py::str(name)] = entry;
  }
  return result;
}

PYBIND11_MODULE(_C, m) {
  const py::call_guard<py::gil_scoped_release> without_gil;
  m.def("device_count", [] { return sim_device_count(); });
  m.def("current_device", [] { return static_cast<int>(index_or_current(c10::Device(kDeviceType))); });
  m.def("set_device", [](int device) { check(sim_device_set(device)); });
  m.def("synchronize", [](int device) { check(sim_device_synchronize(device)); }, without_gil);
  m.def("is_initialized", [] { return sim_initialized() != 0; });
  m.def("is_in_bad_fork", [] { return sim_bad_fork() != 0; });
  m.def("default_generator", &generator_object);
  m.def("set_memory_limit", [](int device, size_t bytes) { check(sim_device_set_memory_limit(device, bytes)); });
  m.def("lose_device", [](int device) { check(sim_device_lose(device)); });
  m.def("reset_device", [](int device) { check(sim_device_reset(device)); }, without_gil);
  m.def("set_fault", [](const std::string& spec) { check(sim_fault_set(spec.c_str())); });
  py::class_<StagedBackend, c10::intrusive_ptr<StagedBackend>>(
      m, "StagedBackend", py::module_::import("torch._C._distributed_c10d").attr("Backend"))
      .def(py::init<c10::intrusive_ptr<c10d::Backend>>());
  m.def("set_private_format", &set_private_format);
  m.def("has_private_format", &has_private_format);
  m.def("launch_compiled", &launch_compiled);
  m.def("operator_counts", &counts_as_dict);
  m.def("reset_operator_counts", &reset_operator_counts);
}

}  // namespace
}  // namespace openreg
