// c10/core/TensorImpl.h and its relatives: the same tensor on the other side,
// whatever its layout: strided, quantized, sparse or nested.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "../Runtime.h"

namespace openreg {

enum class Side { kHost, kDevice };

// How to get the parts of a tensor across.
struct Crossing {
  Side side;  // where the result lives
  std::function<c10::Storage(const c10::Storage&)> storage;
  std::function<at::Tensor(const at::Tensor&)> member;  // strided parts of sparse tensors and quantizers
};

// A tensor with the shape, type, layout and flags of `like` over crossed parts.
at::Tensor rebuild(const at::Tensor& like, const Crossing& crossing);

// Makes `target` look like `source`, which lives on the other side and was
// changed there. Storages of strided tensors are not touched.
void carry_over(const at::Tensor& source, const at::Tensor& target, const Crossing& crossing);

// True if a kernel can be called on the plain CPU key with this tensor.
bool is_plain_strided(const at::Tensor& tensor);

}  // namespace openreg
