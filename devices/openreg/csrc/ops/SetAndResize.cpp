// torch/library.h: operators that give a tensor another storage or size.
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include "../Storage.h"
#include "HostViews.h"

namespace openreg {
namespace {

// Grows the storage if the description no longer fits into it; never shrinks.
void fit_storage(c10::TensorImpl* tensor) {
  if (tensor->numel() == 0) return;
  const size_t needed = at::detail::computeStorageNbytes(tensor->sizes(), tensor->strides(), tensor->itemsize(),
                                                         static_cast<size_t>(tensor->storage_offset()));
  c10::StorageImpl* storage = tensor->unsafe_storage().unsafeGetStorageImpl();
  if (needed > storage->nbytes()) resize_storage(storage, needed);
}

const at::Tensor& resize_(const at::Tensor& self, at::IntArrayRef size, std::optional<at::MemoryFormat> format) {
  at::detail::check_size_nonnegative(size);
  c10::TensorImpl* impl = self.unsafeGetTensorImpl();
  if (self.sizes() != size) {
    impl->generic_set_sizes_contiguous(size);
    fit_storage(impl);
  }
  if (format.has_value()) {
    TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format ", *format);
    impl->empty_tensor_restride(*format);
  }
  return self;
}

at::Tensor& set_storage_offset(at::Tensor& self, at::Storage source, int64_t offset, at::IntArrayRef size,
                               at::IntArrayRef stride) {
  at::native::checkSetStorage(self, source, offset, size, stride);
  c10::TensorImpl* impl = self.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  if (stride.data() != nullptr) {
    impl->set_sizes_and_strides(size, stride);
  } else {
    impl->set_sizes_contiguous(size);
  }
  fit_storage(impl);
  return self;
}

at::Tensor& set_storage(at::Tensor& self, at::Storage source) {
  const int64_t elements = static_cast<int64_t>(source.nbytes() / self.dtype().itemsize());
  return set_storage_offset(self, std::move(source), 0, {elements}, {});
}

at::Tensor& set_tensor(at::Tensor& self, const at::Tensor& source) {
  if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl()) return self;
  return set_storage_offset(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

at::Tensor& set_empty(at::Tensor& self) {
  c10::Storage storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), 0, c10::DataPtr(nullptr, self.device()), c10::GetAllocator(kDeviceType),
      true));
  return set_storage_offset(self, std::move(storage), 0, {0}, {});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("resize_", TORCH_FN(resize_));
  m.impl("set_", TORCH_FN(set_empty));
  m.impl("set_.source_Tensor", TORCH_FN(set_tensor));
  m.impl("set_.source_Storage", TORCH_FN(set_storage));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(set_storage_offset));
}

}  // namespace
}  // namespace openreg
