// ATen/core/boxing/KernelFunction.h: the boxed fallback, for every operator
// that has no kernel of its own in this folder.
//
// It waits for the stream and runs the CPU's kernel over the device's memory.
// Views stay views and in-place results stay in place, because the kernel works
// on the memory itself, not on copies; only fresh results are copied.
#include <torch/library.h>

#include <c10/core/DeviceGuard.h>

#include <unordered_map>

#include "../Generator.h"
#include "../Storage.h"
#include "DeviceCheck.h"
#include "HostRandom.h"
#include "HostViews.h"
#include "Launch.h"
#include "OperatorCounts.h"
#include "Results.h"

namespace openreg {
namespace {

bool is_generator(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::GeneratorType) return true;
  const auto optional = type->cast<c10::OptionalType>();
  return optional && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
}

// One call of one operator: arguments to the host's side, results back.
class Call {
 public:
  Call(const c10::OperatorHandle& op, torch::jit::Stack* stack)
      : op_(op), stack_(stack), device_(common_device(op, *stack)), views_(HostViews::Lifetime::kShared) {}

  void run() {
    const c10::DeviceGuard guard(device_);
    const auto& arguments = op_.schema().arguments();
    const size_t first = stack_->size() - arguments.size();
    for (size_t i = 0; i < arguments.size(); ++i) {
      const bool written = arguments[i].alias_info() != nullptr && arguments[i].alias_info()->isWrite();
      (*stack_)[first + i] = convert(std::move((*stack_)[first + i]), arguments[i], written);
    }
    const std::string& name = op_.operator_name().name;
    launch_inline(name.c_str(), device_.index(), views_.buffers(), [&] {
      const HostRandom random(op_, device_.index());
      op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack_);
    });
    publish_resized();
    const size_t returns = op_.schema().returns().size();
    for (size_t i = stack_->size() - returns; i < stack_->size(); ++i) {
      (*stack_)[i] = convert_back(std::move((*stack_)[i]));
    }
  }

 private:
  c10::IValue convert(c10::IValue value, const c10::Argument& argument, bool written) {
    if (value.isTensor()) return to_host(value.toTensor(), written);
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(to_host(tensor, written));
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& tensor : value.toOptionalTensorVector()) {
        list.push_back(tensor ? std::optional(to_host(*tensor, written)) : std::nullopt);
      }
      return list;
    }
    if (value.isDevice() && value.toDevice().type() == kDeviceType) return c10::Device(c10::kCPU);
    if (is_generator(argument.type())) {
      const auto given = value.isNone() ? std::nullopt : std::optional(value.toGenerator());
      return engine_for(given, device_.index());
    }
    return value;
  }

  at::Tensor to_host(const at::Tensor& tensor, bool written) {
    if (!on_device(tensor)) return tensor;
    at::Tensor view = views_.view(tensor, written);
    arguments_.emplace_back(tensor, view);
    return view;
  }

  // A kernel may have grown or reshaped an argument (out=, resize): carry that
  // over before the results are looked at.
  void publish_resized() {
    for (HostViews::Pair& pair : views_.pairs()) {
      if (pair.host.data() == pair.data && pair.host.nbytes() == pair.bytes) continue;
      c10::StorageImpl* storage = pair.device.unsafeGetStorageImpl();
      resize_storage(storage, pair.host.nbytes());
      upload_into(op_.operator_name().name.c_str(), storage, pair.host);
    }
    for (const auto& [device_tensor, view] : arguments_) {
      c10::TensorImpl* impl = device_tensor.unsafeGetTensorImpl();
      if (impl->sizes() == view.sizes() && impl->strides() == view.strides() &&
          impl->storage_offset() == view.storage_offset()) {
        continue;
      }
      impl->set_sizes_and_strides(view.sizes(), view.strides());
      impl->set_storage_offset(view.storage_offset());
    }
  }

  c10::IValue convert_back(c10::IValue value) {
    if (value.isTensor()) return to_device(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(to_device(tensor));
      return list;
    }
    return value;
  }

  at::Tensor to_device(const at::Tensor& result) {
    if (!result.defined() || !result.is_cpu()) return result;
    for (const auto& [device_tensor, view] : arguments_) {
      if (view.unsafeGetTensorImpl() == result.unsafeGetTensorImpl()) return device_tensor;
    }
    const c10::StorageImpl* host = result.storage().unsafeGetStorageImpl();
    if (const HostViews::Pair* pair = views_.pair_of(host)) {
      return make_view(pair->device, c10::DispatchKey::PrivateUse1, result);
    }
    c10::Storage& storage = fresh_[host];
    if (!storage) storage = upload(op_.operator_name().name.c_str(), result.storage(), device_);
    return make_view(storage, c10::DispatchKey::PrivateUse1, result);
  }

  const c10::OperatorHandle& op_;
  torch::jit::Stack* stack_;
  const c10::Device device_;
  HostViews views_;
  std::vector<std::pair<at::Tensor, at::Tensor>> arguments_;  // device's and host's side
  std::unordered_map<const c10::StorageImpl*, c10::Storage> fresh_;
};

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  counter_for(op).fallback();
  Call(op, stack).run();
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }

}  // namespace
}  // namespace openreg
