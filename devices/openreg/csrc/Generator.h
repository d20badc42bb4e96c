// c10/core/GeneratorImpl.h: the device's own random numbers.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include "Runtime.h"

namespace openreg {

// Holds an engine of its own and never touches the CPU's default generator, so
// that drawing numbers on the device leaves host randomness alone.
//
// Thread safety: as for every generator, callers hold `mutex_`.
class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  explicit DeviceGenerator(c10::DeviceIndex device);

  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override;
  uint64_t seed() override;
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

  static c10::DeviceType device_type() { return kDeviceType; }

  // The engine in the form that the simulated device's kernels understand.
  const at::Generator& engine() const { return engine_; }

 private:
  DeviceGenerator* clone_impl() const override;
  at::Generator engine_;
};

const at::Generator& default_generator(c10::DeviceIndex device);

// The engine to use for a kernel on `device`: the given generator's, or the
// default one's. Throws if the given generator belongs to another device type.
at::Generator engine_for(const std::optional<at::Generator>& generator, c10::DeviceIndex device);

}  // namespace openreg
