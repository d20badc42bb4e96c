// torch/_inductor: compiled code as kernels of the device.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <string>

namespace openreg {

// Calls a kernel that inductor compiled, with the memory of its tensors open.
void launch_compiled(const std::string& name, const py::object& kernel, const py::tuple& arguments);

}  // namespace openreg
