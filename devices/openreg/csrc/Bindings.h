// torch/csrc/utils/pybind.h: Python bindings, each beside what it binds.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace openreg {

// A file with something for Python makes one static object of this type. So a
// file that is left out takes its bindings with it, and nobody has to know.
class Bindings {
 public:
  using Function = void (*)(py::module_& module);
  explicit Bindings(Function bind);

  // Called once, when Python imports torch_openreg._C.
  static void bind_all(py::module_& module);
};

}  // namespace openreg
