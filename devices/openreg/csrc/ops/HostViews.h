// c10/core/TensorImpl.h: how a kernel of the simulated device sees tensors.
//
// A vendor would hand pointers to a compiler's kernel here. Our kernels are the
// CPU's own, so they get CPU tensors that lie over the device's memory. Such a
// tensor holds the device pointer, which faults when touched; only while its
// kernel runs is it bound to the address that the runtime gave that kernel.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include "../Runtime.h"

namespace openreg {

class HostViews {
 public:
  enum class Lifetime {
    kBorrowed,  // for queued kernels: PyTorch's stream rules keep the block valid
    kShared,    // for inline kernels, which may stash a tensor somewhere
  };
  explicit HostViews(Lifetime lifetime) : lifetime_(lifetime) {}

  // One storage of the device and the CPU storage that lies over it.
  struct Pair {
    c10::Storage device;
    c10::Storage host;
    const void* data;
    size_t bytes;
    bool written;
  };

  // A tensor of any layout over the same memory. Views of tensors that share a
  // storage share the view of it, too, so that kernels can tell overlapping
  // arguments.
  at::Tensor view(const at::Tensor& tensor, bool written);
  // The host storage over a whole storage of the device.
  const c10::Storage& storage(const c10::Storage& device, bool written) { return pair_for(device, written).host; }

  // What a launch has to name: the pairs that are not empty, in order.
  using Buffers = c10::SmallVector<Buffer, 4>;
  Buffers buffers() const;

  // A kernel's memory comes in the order of buffers().
  void bind_all(const Buffer* memory) const;
  // Leaves alone what the kernel has put elsewhere.
  void unbind_all(const Buffer* memory) const;
  static void bind(const c10::Storage& host, void* address);

  using Pairs = c10::SmallVector<Pair, 4>;
  Pairs& pairs() { return pairs_; }
  const Pairs& pairs() const { return pairs_; }
  // The pair of a host storage, or null if a kernel made that storage itself.
  Pair* pair_of(const c10::StorageImpl* host);

 private:
  Pair& pair_for(const c10::Storage& storage, bool written);

  Lifetime lifetime_;
  Pairs pairs_;
};

bool on_device(const at::Tensor& tensor);

// A strided host tensor over the same memory, without a share in its ownership:
// a worker thread must not be the one to free what Python may know of.
at::Tensor detached_view(const at::Tensor& host);

}  // namespace openreg
