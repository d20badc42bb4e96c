// torch/csrc/distributed/c10d/Work.hpp: a collective that runs on host copies.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <functional>
#include <vector>

namespace openreg {

// Waits on a thread of its own for the host's work, then brings the results to
// the device, then completes. So results arrive even if nobody calls wait().
//
// Thread safety: the future synchronises; everything else is constant after
// start().
class StagedWork final : public c10d::Work {
 public:
  StagedWork(int rank, c10d::OpType type, c10::intrusive_ptr<c10d::Work> host, c10::Device device,
             std::vector<at::Tensor> outputs, std::function<void()> bring_back);

  void start();

  bool isCompleted() override;
  bool isSuccess() const override;
  std::exception_ptr exception() const override;
  int sourceRank() const override;
  std::vector<at::Tensor> result() override;
  void synchronize() override;
  bool wait(std::chrono::milliseconds timeout) override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

 private:
  c10::intrusive_ptr<c10d::Work> host_;
  std::vector<at::Tensor> outputs_;
  std::function<void()> bring_back_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace openreg
