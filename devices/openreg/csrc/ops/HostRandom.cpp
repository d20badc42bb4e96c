// ATen/CPUGeneratorImpl.h: lends the device's engine to the default generator.
#include "HostRandom.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>

#include "../Generator.h"

namespace openreg {
namespace {

c10::intrusive_ptr<c10::TensorImpl> state_of(at::Generator generator) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.unsafeGetGeneratorImpl()->get_state();
}

void set_state(at::Generator generator, const c10::TensorImpl& state) {
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.unsafeGetGeneratorImpl()->set_state(state);
}

bool takes_generator(const c10::FunctionSchema& schema) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (argument.name() == "generator") return true;
  }
  return false;
}

}  // namespace

HostRandom::HostRandom(const c10::OperatorHandle& op, c10::DeviceIndex device) {
  if (!op.hasTag(at::Tag::nondeterministic_seeded) || takes_generator(op.schema())) return;
  active_ = true;
  device_engine_ = engine_for(std::nullopt, device);
  const at::Generator& host = at::detail::getDefaultCPUGenerator();
  saved_ = state_of(host);
  set_state(host, *state_of(device_engine_));
}

HostRandom::~HostRandom() {
  if (!active_) return;
  const at::Generator& host = at::detail::getDefaultCPUGenerator();
  set_state(device_engine_, *state_of(host));
  set_state(host, *saved_);
}

}  // namespace openreg
