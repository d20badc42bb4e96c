// torch/csrc/jit/serialization/pickler_helper.h: what torch.save keeps of it.
#include "PrivateFormat.h"

#include <c10/core/TensorImpl.h>
#include <torch/csrc/jit/serialization/pickler_helper.h>

#include "Bindings.h"
#include "Runtime.h"

namespace openreg {
namespace {

constexpr const char* kKey = "openreg_private_format";

struct PrivateFormat final : c10::BackendMeta {
  c10::intrusive_ptr<c10::BackendMeta> clone(const c10::intrusive_ptr<c10::BackendMeta>&) const override {
    return c10::make_intrusive<PrivateFormat>();
  }
};

void save(const at::Tensor& tensor, std::unordered_map<std::string, bool>& metadata) {
  if (has_private_format(tensor)) metadata[kKey] = true;
}

void load(const at::Tensor& tensor, std::unordered_map<std::string, bool>& metadata) {
  if (metadata.contains(kKey)) set_private_format(tensor, true);
}

struct Registration {
  Registration() { torch::jit::TensorBackendMetaRegistry(kDeviceType, save, load); }
} registration;

}  // namespace

void set_private_format(const at::Tensor& tensor, bool value) {
  TORCH_CHECK(tensor.device().type() == kDeviceType, "only tensors on openreg have a private format");
  tensor.unsafeGetTensorImpl()->set_backend_meta(value ? c10::make_intrusive<PrivateFormat>() : nullptr);
}

bool has_private_format(const at::Tensor& tensor) {
  return dynamic_cast<const PrivateFormat*>(tensor.unsafeGetTensorImpl()->get_backend_meta()) != nullptr;
}

namespace {

const Bindings private_format_bindings([](py::module_& m) {
  m.def("set_private_format", &set_private_format);
  m.def("has_private_format", &has_private_format);
});

}  // namespace

}  // namespace openreg
