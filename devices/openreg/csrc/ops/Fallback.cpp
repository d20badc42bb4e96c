// ATen/core/boxing/KernelFunction.h: the boxed fallback, for every operator
// that has no kernel of its own in this folder.
//
// It waits for the stream and runs the CPU's kernel over the device's memory.
// Views stay views and in-place results stay in place, because the kernel works
// on the memory itself, not on copies; only fresh results are copied.
#include <torch/library.h>

#include <c10/core/DeviceGuard.h>
#include <c10/core/InferenceMode.h>

#include <unordered_map>

#include "../Generator.h"
#include "../Storage.h"
#include "ArgumentDevices.h"
#include "Fallback.h"
#include "HostViews.h"
#include "Launch.h"
#include "Layouts.h"
#include "OperatorCounts.h"
#include "Results.h"

namespace openreg {
namespace {

bool is_generator(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::GeneratorType) return true;
  const auto optional = type->cast<c10::OptionalType>();
  return optional && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
}

// The statistics of batch_norm are updated in place, which most of its schemas
// do not mark.
bool is_written(const c10::Argument& argument) {
  if (argument.name() == "running_mean" || argument.name() == "running_var") return true;
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

// One call of one operator: arguments to the host's side, results back.
class Call {
 public:
  Call(const c10::OperatorHandle& op, torch::jit::Stack* stack, bool plain)
      : op_(op), stack_(stack), plain_(plain), device_(common_device(op, *stack)),
        result_device_(result_device(op, *stack, device_)), views_(HostViews::Lifetime::kShared) {}

  void run() {
    const c10::DeviceGuard guard(device_);
    const auto& arguments = op_.schema().arguments();
    const size_t first = stack_->size() - arguments.size();
    for (size_t i = 0; i < arguments.size(); ++i) {
      (*stack_)[first + i] = convert(std::move((*stack_)[first + i]), arguments[i], is_written(arguments[i]));
    }
    const std::string& name = op_.operator_name().name;
    launch_inline(name.c_str(), device_.index(), views_, [&] {
      if (plain_) {
        op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack_);
      } else {
        // Sparse, quantized and nested tensors have keys of their own.
        const c10::impl::ExcludeDispatchKeyGuard below(c10::autograd_dispatch_keyset_with_ADInplaceOrView |
                                                       c10::autocast_dispatch_keyset);
        op_.callBoxed(stack_);
      }
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
    if ((value.isNone() || value.isGenerator()) && is_generator(argument.type())) {
      const auto given = value.isNone() ? std::nullopt : std::optional(value.toGenerator());
      return engine_for(given, device_.index());
    }
    return value;
  }

  at::Tensor to_host(const at::Tensor& tensor, bool written) {
    if (!on_device(tensor)) return tensor;
    plain_ = plain_ && is_plain_strided(tensor);
    at::Tensor view = views_.view(tensor, written);
    // Kernels refuse some outputs that are inputs as well, so one tensor stays one.
    for (const auto& [device_tensor, known] : arguments_) {
      if (device_tensor.is_same(tensor)) return known;
    }
    // Some kernels save more for the backward pass when somebody will need it.
    if (tensor.requires_grad()) view.unsafeGetTensorImpl()->set_requires_grad(true);
    arguments_.emplace_back(tensor, view);
    return view;
  }

  // A kernel may have grown or reshaped an argument (out=, resize): carry that
  // over before the results are looked at.
  void publish_resized() {
    for (HostViews::Pair& pair : views_.pairs()) {
      if (pair.host.data() == pair.data && pair.host.nbytes() == pair.bytes) continue;
      resize_storage(pair.device.unsafeGetStorageImpl(), pair.host.nbytes());
      upload_into(op_.operator_name().name.c_str(), pair.device, pair.host);
    }
    for (const auto& [device_tensor, view] : arguments_) carry_over(view, device_tensor, back_);
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
    bool inference = c10::InferenceMode::is_enabled();
    for (const auto& [device_tensor, view] : arguments_) {
      if (view.unsafeGetTensorImpl() == result.unsafeGetTensorImpl()) return device_tensor;
      if (view.has_storage() && result.has_storage() && view.is_alias_of(result)) inference = device_tensor.is_inference();
    }
    // Autograd asks that a view is an inference tensor only where its base is one.
    const c10::InferenceMode as_base(inference);
    return result_device_.type() == kDeviceType ? rebuild(result, back_) : result;
  }

  c10::Storage storage_to_device(const c10::Storage& host) {
    if (const HostViews::Pair* pair = views_.pair_of(host.unsafeGetStorageImpl())) return pair->device;
    for (const auto& [known, storage] : fresh_) {
      if (known == host.unsafeGetStorageImpl()) return storage;
    }
    fresh_.emplace_back(host.unsafeGetStorageImpl(), upload(op_.operator_name().name.c_str(), host, result_device_));
    return fresh_.back().second;
  }

  const c10::OperatorHandle& op_;
  torch::jit::Stack* stack_;
  bool plain_;  // only dense strided tensors so far
  const c10::Device device_;
  const c10::Device result_device_;
  HostViews views_;
  const Crossing back_{Side::kDevice, [this](const c10::Storage& storage) { return storage_to_device(storage); },
                       [this](const at::Tensor& member) { return to_device(member); }};
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 4> arguments_;  // device's and host's side
  c10::SmallVector<std::pair<const c10::StorageImpl*, c10::Storage>, 4> fresh_;
};

// Each thread remembers the counters that it has looked up by name. The address
// of an operator that was taken back may come again under another name.
CallCounter& remembered_counter(const c10::OperatorHandle& op) {
  struct Known {
    c10::OperatorName name{"", ""};
    CallCounter* counter = nullptr;
  };
  thread_local std::unordered_map<const void*, Known> counters;
  const c10::OperatorName& name = op.operator_name();
  Known& known = counters[&name];
  if (known.counter == nullptr || known.name != name) known = {name, &counter_for(op)};
  return *known.counter;
}

}  // namespace

void fallback(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  remembered_counter(op).fallback();
  Call(op, stack, true).run();
}

void fallback_any_layout(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  remembered_counter(op).fallback();
  Call(op, stack, false).run();
}

namespace {

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }

// These have a composite form, which would come before the fallback. For the
// first ones it rounds differently from the CPU's kernel; the losses warn about
// an output that PyTorch itself made too small; that of mode knows no other
// device, and those of all and any take an output of any dtype.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const char* name : {"native_layer_norm", "native_layer_norm_backward", "native_group_norm",
                           "native_group_norm_backward", "addr", "addr.out", "mse_loss", "smooth_l1_loss", "mode.values",
                           "all.dims_out", "any.dims_out"}) {
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fallback>());
  }
}

}  // namespace
}  // namespace openreg
