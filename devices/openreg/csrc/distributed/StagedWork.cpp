// torch/csrc/distributed/c10d/Work.hpp: completion of a staged collective.
#include "StagedWork.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <thread>

namespace openreg {

StagedWork::StagedWork(int rank, c10d::OpType type, c10::intrusive_ptr<c10d::Work> host, c10::Device device,
                       std::vector<at::Tensor> outputs, std::function<void()> bring_back)
    : c10d::Work(rank, type), host_(std::move(host)), outputs_(std::move(outputs)),
      bring_back_(std::move(bring_back)),
      future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()),
                                                       std::vector<c10::Device>{device})) {}

void StagedWork::start() {
  auto self = c10::intrusive_ptr<StagedWork>::reclaim_copy(this);
  std::thread([self] {
    try {
      self->host_->wait();
      // Autograd has no part in what a collective writes.
      const at::AutoDispatchBelowADInplaceOrView guard;
      self->bring_back_();
      self->future_->markCompleted(c10::IValue(self->outputs_));
    } catch (...) {
      self->future_->setError(std::current_exception());
    }
  }).detach();
}

bool StagedWork::isCompleted() { return future_->completed(); }
bool StagedWork::isSuccess() const { return future_->completed() && !future_->hasError(); }
std::exception_ptr StagedWork::exception() const { return future_->exception_ptr(); }
int StagedWork::sourceRank() const { return host_->sourceRank(); }
std::vector<at::Tensor> StagedWork::result() { return outputs_; }
void StagedWork::synchronize() { future_->waitAndThrow(); }
bool StagedWork::wait(std::chrono::milliseconds) {
  // The time-out is the host's: its work fails when it runs out.
  future_->waitAndThrow();
  return true;
}
c10::intrusive_ptr<c10::ivalue::Future> StagedWork::getFuture() { return future_; }

}  // namespace openreg
