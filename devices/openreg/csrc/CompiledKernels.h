// torch/_inductor/codegen/wrapper.py: compiled code as kernels of the device.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <string>

namespace openreg {

// Calls a kernel that inductor compiled, over the memory of its tensors.
void launch_compiled(const std::string& name, const py::object& kernel, const py::tuple& arguments);

}  // namespace openreg
