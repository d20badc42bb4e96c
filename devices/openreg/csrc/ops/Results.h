// c10/core/StorageImpl.h: results that a kernel left in host memory.
#pragma once

#include <ATen/core/Tensor.h>

#include "../Runtime.h"

namespace openreg {

// A device storage with the same bytes, written by a kernel named `name`.
c10::Storage upload(const char* name, const c10::Storage& host, c10::Device device);
void upload_into(const char* name, const c10::Storage& target, const c10::Storage& host);

// The same tensor on the device, with equal strides and offset. Undefined
// tensors stay undefined.
at::Tensor to_device(const at::Tensor& host, c10::Device device);

}  // namespace openreg
