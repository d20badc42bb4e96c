// torch/library.h: Tensor.record_stream, with which a user tells the allocator
// that a tensor is in use on a stream other than the one it was made on.
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include "../Streams.h"

namespace openreg {
namespace {

void record_stream(at::Tensor& self, c10::Stream stream) {
  check(sim_pool_record_stream(self.storage().mutable_data(), handle_of(stream)));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("record_stream", TORCH_FN(record_stream)); }

}  // namespace
}  // namespace openreg
