// c10/core/TensorImpl.h, BackendMeta: a note that the device keeps on a tensor.
#pragma once

#include <ATen/core/Tensor.h>

namespace openreg {

// A vendor would note a private memory layout here. Ours is a flag, which
// travels with the tensor through torch.save and torch.load.
void set_private_format(const at::Tensor& tensor, bool value);
bool has_private_format(const at::Tensor& tensor);

}  // namespace openreg
