// torch/csrc/distributed/c10d/Backend.hpp: collectives through host memory.
#include "StagedBackend.h"

#include <ATen/ops/empty.h>

#include "Bindings.h"
#include "Runtime.h"
#include "StagedWork.h"

namespace openreg {
namespace {

using c10d::OpType;
using Tensors = std::vector<at::Tensor>;

// Waits for the current stream, so that earlier work is in the copy.
at::Tensor copied(const at::Tensor& tensor) { return tensor.detach().to(at::kCPU, false, true).contiguous(); }
at::Tensor room_for(const at::Tensor& tensor) {
  return at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
}

Tensors copied(const Tensors& tensors) {
  Tensors result;
  for (const at::Tensor& tensor : tensors) result.push_back(copied(tensor));
  return result;
}

Tensors flattened(const std::vector<Tensors>& lists) {
  Tensors result;
  for (const Tensors& list : lists) result.insert(result.end(), list.begin(), list.end());
  return result;
}

// Gloo has no average: it sums, and we divide.
template <class Options>
bool replace_average(Options& options) {
  if (options.reduceOp != c10d::ReduceOp::AVG) return false;
  options.reduceOp = c10d::ReduceOp::SUM;
  return true;
}

}  // namespace

StagedBackend::StagedBackend(c10::intrusive_ptr<c10d::Backend> host)
    : c10d::Backend(host->getRank(), host->getSize()), host_(std::move(host)) {}

std::vector<StagedBackend::Pair> StagedBackend::stage(const Tensors& tensors) {
  std::vector<Pair> result;
  for (const at::Tensor& tensor : tensors) result.push_back({tensor, copied(tensor)});
  return result;
}

StagedBackend::WorkPtr StagedBackend::finish(OpType type, WorkPtr work, std::vector<Pair> pairs, Tensors outputs,
                                             bool average) {
  c10::Device device(kDeviceType, index_or_current(c10::Device(kDeviceType)));
  if (!pairs.empty()) device = pairs.front().device.device();
  auto bring_back = [pairs = std::move(pairs), average, size = getSize()]() mutable {
    for (Pair& pair : pairs) {
      if (average) pair.host.div_(size);
      pair.device.copy_(pair.host);
    }
    pairs.clear();
  };
  auto staged =
      c10::make_intrusive<StagedWork>(getRank(), type, std::move(work), device, std::move(outputs), bring_back);
  staged->start();
  return staged;
}

namespace {

// Views of the pairs' host side, in the form that the host's backend wants.
template <class Pairs>
Tensors hosts(const Pairs& pairs) {
  Tensors result;
  for (const auto& pair : pairs) result.push_back(pair.host);
  return result;
}

template <class Pairs>
std::vector<Tensors> host_lists(const Pairs& pairs, const std::vector<Tensors>& like) {
  std::vector<Tensors> result;
  size_t next = 0;
  for (const Tensors& list : like) {
    result.emplace_back();
    for (size_t i = 0; i < list.size(); ++i) result.back().push_back(pairs[next++].host);
  }
  return result;
}

}  // namespace

std::vector<StagedBackend::Pair> StagedBackend::reserve(const Tensors& tensors) {
  std::vector<Pair> result;
  for (const at::Tensor& tensor : tensors) result.push_back({tensor, room_for(tensor)});
  return result;
}

StagedBackend::WorkPtr StagedBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  auto pairs = stage(tensors);
  Tensors host = hosts(pairs);
  return finish(OpType::BROADCAST, host_->broadcast(host, options), std::move(pairs), tensors);
}

StagedBackend::WorkPtr StagedBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& given) {
  auto options = given;
  const bool average = replace_average(options);
  auto pairs = stage(tensors);
  Tensors host = hosts(pairs);
  return finish(OpType::ALLREDUCE, host_->allreduce(host, options), std::move(pairs), tensors, average);
}

StagedBackend::WorkPtr StagedBackend::allreduce_coalesced(Tensors& tensors,
                                                          const c10d::AllreduceCoalescedOptions& given) {
  auto options = given;
  const bool average = replace_average(options);
  auto pairs = stage(tensors);
  Tensors host = hosts(pairs);
  return finish(OpType::ALLREDUCE_COALESCED, host_->allreduce_coalesced(host, options), std::move(pairs), tensors,
                average);
}

StagedBackend::WorkPtr StagedBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& given) {
  auto options = given;
  const bool average = replace_average(options);
  auto pairs = stage(tensors);
  Tensors host = hosts(pairs);
  WorkPtr work = host_->reduce(host, options);
  // Only the root may see a result; Gloo uses the others' buffers as scratch.
  if (options.rootRank != getRank()) pairs.clear();
  return finish(OpType::REDUCE, std::move(work), std::move(pairs), tensors, average);
}

StagedBackend::WorkPtr StagedBackend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                                const c10d::AllgatherOptions& options) {
  auto pairs = reserve(flattened(outputs));
  Tensors host_inputs = copied(inputs);
  auto host_outputs = host_lists(pairs, outputs);
  return finish(OpType::ALLGATHER, host_->allgather(host_outputs, host_inputs, options), std::move(pairs),
                flattened(outputs));
}

StagedBackend::WorkPtr StagedBackend::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                                          const c10d::AllgatherOptions& options) {
  auto pairs = reserve(flattened(outputs));
  Tensors host_inputs = copied(inputs);
  auto host_outputs = host_lists(pairs, outputs);
  return finish(OpType::ALLGATHER_COALESCED, host_->allgather_coalesced(host_outputs, host_inputs, options),
                std::move(pairs), flattened(outputs));
}

StagedBackend::WorkPtr StagedBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                      const c10d::AllgatherOptions& options) {
  at::Tensor host_input = copied(input);
  at::Tensor host_output = room_for(output);
  return finish(OpType::_ALLGATHER_BASE, host_->_allgather_base(host_output, host_input, options),
                {{output, host_output}}, {output});
}

StagedBackend::WorkPtr StagedBackend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                      const c10d::AllgatherOptions& options) {
  auto pairs = reserve(outputs);
  Tensors host_inputs = copied(inputs);
  Tensors host_outputs = hosts(pairs);
  return finish(OpType::COALESCED, host_->allgather_into_tensor_coalesced(host_outputs, host_inputs, options),
                std::move(pairs), outputs);
}

StagedBackend::WorkPtr StagedBackend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                             const c10d::GatherOptions& options) {
  auto pairs = reserve(flattened(outputs));
  Tensors host_inputs = copied(inputs);
  auto host_outputs = host_lists(pairs, outputs);
  return finish(OpType::GATHER, host_->gather(host_outputs, host_inputs, options), std::move(pairs),
                flattened(outputs));
}

StagedBackend::WorkPtr StagedBackend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                              const c10d::ScatterOptions& options) {
  auto pairs = reserve(outputs);
  std::vector<Tensors> host_inputs;
  for (const Tensors& list : inputs) host_inputs.push_back(copied(list));
  Tensors host_outputs = hosts(pairs);
  return finish(OpType::SCATTER, host_->scatter(host_outputs, host_inputs, options), std::move(pairs), outputs);
}

StagedBackend::WorkPtr StagedBackend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                                     const c10d::ReduceScatterOptions& given) {
  auto options = given;
  const bool average = replace_average(options);
  auto pairs = reserve(outputs);
  std::vector<Tensors> host_inputs;
  for (const Tensors& list : inputs) host_inputs.push_back(copied(list));
  Tensors host_outputs = hosts(pairs);
  return finish(OpType::REDUCE_SCATTER, host_->reduce_scatter(host_outputs, host_inputs, options), std::move(pairs),
                outputs, average);
}

StagedBackend::WorkPtr StagedBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                           const c10d::ReduceScatterOptions& given) {
  auto options = given;
  const bool average = replace_average(options);
  at::Tensor host_input = copied(input);
  at::Tensor host_output = room_for(output);
  return finish(OpType::_REDUCE_SCATTER_BASE, host_->_reduce_scatter_base(host_output, host_input, options),
                {{output, host_output}}, {output}, average);
}

StagedBackend::WorkPtr StagedBackend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                      const c10d::ReduceScatterOptions& given) {
  auto options = given;
  const bool average = replace_average(options);
  auto pairs = reserve(outputs);
  Tensors host_inputs = copied(inputs);
  Tensors host_outputs = hosts(pairs);
  return finish(OpType::COALESCED, host_->reduce_scatter_tensor_coalesced(host_outputs, host_inputs, options),
                std::move(pairs), outputs, average);
}

StagedBackend::WorkPtr StagedBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                    std::vector<int64_t>& output_splits,
                                                    std::vector<int64_t>& input_splits,
                                                    const c10d::AllToAllOptions& options) {
  at::Tensor host_input = copied(input);
  at::Tensor host_output = room_for(output);
  return finish(OpType::ALLTOALL_BASE,
                host_->alltoall_base(host_output, host_input, output_splits, input_splits, options),
                {{output, host_output}}, {output});
}

StagedBackend::WorkPtr StagedBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                               const c10d::AllToAllOptions& options) {
  auto pairs = reserve(outputs);
  Tensors host_inputs = copied(inputs);
  Tensors host_outputs = hosts(pairs);
  return finish(OpType::ALLTOALL, host_->alltoall(host_outputs, host_inputs, options), std::move(pairs), outputs);
}

StagedBackend::WorkPtr StagedBackend::send(Tensors& tensors, int destination, int tag) {
  Tensors host = copied(tensors);
  return finish(OpType::SEND, host_->send(host, destination, tag), {}, tensors);
}

StagedBackend::WorkPtr StagedBackend::recv(Tensors& tensors, int source, int tag) {
  auto pairs = reserve(tensors);
  Tensors host = hosts(pairs);
  return finish(OpType::RECV, host_->recv(host, source, tag), std::move(pairs), tensors);
}

StagedBackend::WorkPtr StagedBackend::recvAnysource(Tensors& tensors, int tag) {
  auto pairs = reserve(tensors);
  Tensors host = hosts(pairs);
  return finish(OpType::RECVANYSOURCE, host_->recvAnysource(host, tag), std::move(pairs), tensors);
}

StagedBackend::WorkPtr StagedBackend::barrier(const c10d::BarrierOptions& options) {
  check(sim_device_synchronize(index_or_current(c10::Device(kDeviceType))));
  return host_->barrier(options);
}

namespace {

const Bindings backend_bindings([](py::module_& m) {
  py::class_<StagedBackend, c10::intrusive_ptr<StagedBackend>>(
      m, "StagedBackend", py::module_::import("torch._C._distributed_c10d").attr("Backend"))
      .def(py::init<c10::intrusive_ptr<c10d::Backend>>());
});

}  // namespace
}  // namespace openreg
