// torch/csrc/jit/serialization/pickler_helper.h: what the device notes on a
// tensor, and torch.save keeps.
//
// Thread safety: notes do not change once they are on a tensor.
#include <ATen/core/Tensor.h>
#include <c10/core/TensorImpl.h>
#include <torch/csrc/jit/serialization/pickler_helper.h>

#include <string>
#include <unordered_map>
#include <utility>

#include "Runtime.h"

namespace openreg {
namespace {

using Flags = std::unordered_map<std::string, bool>;

// A vendor would note a private memory layout here. Ours are flags with any
// name, which torch._utils.set_tensor_metadata sets and torch.load restores.
struct Notes final : c10::BackendMeta {
  explicit Notes(Flags flags) : flags(std::move(flags)) {}
  const Flags flags;
};

void save(const at::Tensor& tensor, Flags& metadata) {
  const auto* notes = dynamic_cast<const Notes*>(tensor.unsafeGetTensorImpl()->get_backend_meta());
  if (notes != nullptr) metadata.insert(notes->flags.begin(), notes->flags.end());
}

// PyTorch has taken its own flags out of the map before.
void load(const at::Tensor& tensor, Flags& metadata) {
  tensor.unsafeGetTensorImpl()->set_backend_meta(metadata.empty() ? nullptr : c10::make_intrusive<Notes>(metadata));
}

struct NotesRegistration {
  NotesRegistration() { torch::jit::TensorBackendMetaRegistry(kDeviceType, save, load); }
} notes_registration;

}  // namespace
}  // namespace openreg
