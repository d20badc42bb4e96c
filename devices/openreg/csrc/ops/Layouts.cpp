// c10/core/TensorImpl.h, ATen/SparseTensorImpl.h, ATen/SparseCsrTensorImpl.h,
// ATen/quantized/QTensorImpl.h, ATen/NestedTensorImpl.h: rebuilding tensors.
#include "Layouts.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/SparseCsrTensorUtils.h>
#include <ATen/quantized/QTensorImpl.h>
#include <ATen/quantized/Quantizer.h>

namespace openreg {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

DispatchKeySet keys(Side side, DispatchKey host, DispatchKey device) {
  return DispatchKeySet(side == Side::kHost ? host : device);
}

void copy_geometry(const at::Tensor& like, c10::TensorImpl* impl) {
  impl->set_sizes_and_strides(like.sizes(), like.strides());
  impl->set_storage_offset(like.storage_offset());
}

at::Tensor rebuild_strided(const at::Tensor& like, const Crossing& crossing) {
  at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
      crossing.storage(like.storage()), keys(crossing.side, DispatchKey::CPU, DispatchKey::PrivateUse1), like.dtype());
  c10::TensorImpl* impl = result.unsafeGetTensorImpl();
  copy_geometry(like, impl);
  if (like.is_conj()) impl->_set_conj(true);
  if (like.is_neg()) impl->_set_neg(true);
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  return result;
}

at::QuantizerPtr rebuild_quantizer(const at::QuantizerPtr& like, const Crossing& crossing) {
  const at::ScalarType type = like->scalar_type();
  switch (like->qscheme()) {
    case at::kPerChannelAffine:
    case at::kPerChannelSymmetric: {
      const auto* channels = static_cast<at::PerChannelAffineQuantizer*>(like.get());
      return at::make_per_channel_affine_quantizer(crossing.member(channels->scales()),
                                                   crossing.member(channels->zero_points()), channels->axis(), type);
    }
    case at::kPerTensorAffine:
    case at::kPerTensorSymmetric: {
      const auto* whole = static_cast<at::PerTensorAffineQuantizer*>(like.get());
      return at::make_per_tensor_affine_quantizer(whole->scale(), whole->zero_point(), type);
    }
    default:
      return at::make_unknown_quantizer(type);
  }
}

at::QTensorImpl* quantized_impl(const at::Tensor& tensor) {
  return static_cast<at::QTensorImpl*>(tensor.unsafeGetTensorImpl());
}

at::Tensor rebuild_quantized(const at::Tensor& like, const Crossing& crossing) {
  at::Tensor result = at::detail::make_tensor<at::QTensorImpl>(
      crossing.storage(like.storage()),
      keys(crossing.side, DispatchKey::QuantizedCPU, DispatchKey::QuantizedPrivateUse1), like.dtype(),
      rebuild_quantizer(quantized_impl(like)->quantizer(), crossing));
  copy_geometry(like, result.unsafeGetTensorImpl());
  return result;
}

at::SparseTensorImpl* coo_impl(const at::Tensor& tensor) {
  return static_cast<at::SparseTensorImpl*>(tensor.unsafeGetTensorImpl());
}

void set_coo(const at::Tensor& like, at::SparseTensorImpl* impl, const Crossing& crossing) {
  const at::SparseTensorImpl* source = coo_impl(like);
  const at::Tensor indices = crossing.member(source->indices());
  const at::Tensor values = crossing.member(source->values());
  impl->raw_resize_(source->sparse_dim(), source->dense_dim(), like.sizes());
  impl->set_indices_and_values_unsafe(indices, values);
  impl->set_coalesced(source->coalesced());
}

at::Tensor rebuild_coo(const at::Tensor& like, const Crossing& crossing) {
  at::Tensor result = at::detail::make_tensor<at::SparseTensorImpl>(
      keys(crossing.side, DispatchKey::SparseCPU, DispatchKey::SparsePrivateUse1), like.dtype());
  set_coo(like, coo_impl(result), crossing);
  return result;
}

at::SparseCsrTensorImpl* compressed_impl(const at::Tensor& tensor) {
  return static_cast<at::SparseCsrTensorImpl*>(tensor.unsafeGetTensorImpl());
}

void set_compressed(const at::Tensor& like, at::SparseCsrTensorImpl* impl, const Crossing& crossing) {
  at::SparseCsrTensorImpl* source = compressed_impl(like);
  impl->set_member_tensors(crossing.member(source->compressed_indices()), crossing.member(source->plain_indices()),
                           crossing.member(source->values()), like.sizes());
}

at::Tensor rebuild_compressed(const at::Tensor& like, const Crossing& crossing) {
  const at::Tensor values = crossing.member(compressed_impl(like)->values());
  at::Tensor result = at::detail::make_tensor<at::SparseCsrTensorImpl>(
      keys(crossing.side, DispatchKey::SparseCsrCPU, DispatchKey::SparseCsrPrivateUse1), values.device(),
      like.layout(), like.dtype());
  set_compressed(like, compressed_impl(result), crossing);
  return result;
}

at::Tensor rebuild_nested(const at::Tensor& like, const Crossing& crossing) {
  // The sizes of the components live on the host on every device.
  const auto* source = static_cast<at::native::NestedTensorImpl*>(like.unsafeGetTensorImpl());
  return at::detail::make_tensor<at::native::NestedTensorImpl>(
      crossing.storage(like.storage()),
      keys(crossing.side, DispatchKey::NestedTensorCPU, DispatchKey::NestedTensorPrivateUse1), like.dtype(),
      source->get_nested_sizes(), source->get_nested_strides(), source->get_storage_offsets());
}

}  // namespace

at::Tensor rebuild(const at::Tensor& like, const Crossing& crossing) {
  if (like.is_nested()) return rebuild_nested(like, crossing);
  if (like.is_sparse()) return rebuild_coo(like, crossing);
  if (at::sparse_csr::is_sparse_compressed(like)) return rebuild_compressed(like, crossing);
  if (like.is_quantized()) return rebuild_quantized(like, crossing);
  return rebuild_strided(like, crossing);
}

void carry_over(const at::Tensor& source, const at::Tensor& target, const Crossing& crossing) {
  if (source.is_nested()) return;
  if (source.is_sparse()) return set_coo(source, coo_impl(target), crossing);
  if (at::sparse_csr::is_sparse_compressed(source)) return set_compressed(source, compressed_impl(target), crossing);
  if (source.is_quantized()) {
    quantized_impl(target)->set_quantizer_(rebuild_quantizer(quantized_impl(source)->quantizer(), crossing));
  }
  if (source.sizes() != target.sizes() || source.strides() != target.strides() ||
      source.storage_offset() != target.storage_offset()) {
    copy_geometry(source, target.unsafeGetTensorImpl());
  }
  // Some kernels conjugate their output by flipping its bit.
  if (source.is_conj() != target.is_conj()) target.unsafeGetTensorImpl()->_set_conj(source.is_conj());
  if (source.is_neg() != target.is_neg()) target.unsafeGetTensorImpl()->_set_neg(source.is_neg());
}

bool is_plain_strided(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && !tensor.is_nested() && !tensor.is_quantized();
}

}  // namespace openreg
