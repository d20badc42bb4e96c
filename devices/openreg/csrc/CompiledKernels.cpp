// torch/_inductor/codegen/wrapper.py: compiled code as kernels of the device.
#include "CompiledKernels.h"

#include <torch/csrc/autograd/python_variable.h>

#include <optional>

#include "Bindings.h"
#include "ops/HostViews.h"
#include "ops/Launch.h"

namespace openreg {

void launch_compiled(const std::string& name, const py::object& kernel, const py::tuple& arguments) {
  HostViews views(HostViews::Lifetime::kBorrowed);
  std::optional<c10::Device> device;
  py::tuple on_host(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const py::object argument = arguments[i];
    on_host[i] = argument;
    if (!THPVariable_Check(argument.ptr())) continue;
    const at::Tensor& tensor = THPVariable_Unpack(argument.ptr());
    if (!on_device(tensor)) continue;
    TORCH_CHECK(!device || *device == tensor.device(), "the compiled kernel ", name, " has tensors on ", *device,
                " and ", tensor.device());
    device = tensor.device();
    // The compiled code does not say what it writes.
    on_host[i] = py::reinterpret_steal<py::object>(THPVariable_Wrap(views.view(tensor, true)));
  }
  if (device) {
    launch_inline(name.c_str(), device->index(), views, [&] {
      const py::gil_scoped_acquire locked;
      kernel(*on_host);
    });
  } else {
    kernel(*arguments);
  }
}

namespace {

const Bindings compiled_kernel_bindings([](py::module_& m) { m.def("launch_compiled", &launch_compiled); });

}  // namespace

}  // namespace openreg
