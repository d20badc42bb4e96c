// c10/core/TensorImpl.h: how a kernel of the simulated device sees tensors.
//
// A vendor would hand pointers to a compiler's kernel here. Our kernels are the
// CPU's own, so they get CPU tensors that lie over the device's memory. Touching
// such a tensor while no kernel runs faults, as the pages are closed.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

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

  // What a launch has to open.
  std::vector<sim_buffer> buffers() const;

  std::vector<Pair>& pairs() { return pairs_; }
  // The pair of a host storage, or null if a kernel made that storage itself.
  Pair* pair_of(const c10::StorageImpl* host);

 private:
  Pair& pair_for(const c10::Storage& storage, bool written);

  Lifetime lifetime_;
  std::vector<Pair> pairs_;
};

bool on_device(const at::Tensor& tensor);

// A strided host tensor over the same memory, without a share in its ownership:
// a worker thread must not be the one to free what Python may know of.
at::Tensor detached_view(const at::Tensor& host);

}  // namespace openreg
