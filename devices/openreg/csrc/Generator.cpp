// c10/core/GeneratorImpl.h: one default generator per device, and new ones.
#include "Generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/Generator.h>

#include <memory>
#include <mutex>
#include <vector>

#include "Bindings.h"

namespace openreg {

DeviceGenerator::DeviceGenerator(c10::DeviceIndex device)
    : c10::GeneratorImpl(device_of(device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
      engine_(at::detail::createCPUGenerator()) {}

void DeviceGenerator::set_current_seed(uint64_t seed) { engine_.set_current_seed(seed); }
uint64_t DeviceGenerator::current_seed() const { return engine_.current_seed(); }
uint64_t DeviceGenerator::seed() {
  at::Generator engine = engine_;
  return engine.seed();
}
void DeviceGenerator::set_offset(uint64_t) { TORCH_CHECK(false, "openreg generators have no offset"); }
uint64_t DeviceGenerator::get_offset() const { TORCH_CHECK(false, "openreg generators have no offset"); }

void DeviceGenerator::set_state(const c10::TensorImpl& state) { engine_.unsafeGetGeneratorImpl()->set_state(state); }

c10::intrusive_ptr<c10::TensorImpl> DeviceGenerator::get_state() const {
  return engine_.unsafeGetGeneratorImpl()->get_state();
}

DeviceGenerator* DeviceGenerator::clone_impl() const {
  auto copy = std::make_unique<DeviceGenerator>(device().index());
  copy->engine_ = engine_.clone();
  return copy.release();
}

const at::Generator& default_generator(c10::DeviceIndex device) {
  static const std::vector<at::Generator>* generators = [] {
    auto* created = new std::vector<at::Generator>();
    for (c10::DeviceIndex index = 0; index < device_count(); ++index) {
      created->push_back(at::make_generator<DeviceGenerator>(index));
    }
    return created;
  }();
  const c10::DeviceIndex index = existing(device < 0 ? index_or_current(c10::Device(kDeviceType)) : device);
  return (*generators)[static_cast<size_t>(index)];
}

at::Generator engine_for(const std::optional<at::Generator>& generator, c10::DeviceIndex device) {
  const bool given = generator.has_value() && generator->defined();
  const at::Generator& chosen = given ? *generator : default_generator(device);
  TORCH_CHECK(chosen.device().type() == kDeviceType, "Expected a '", kDeviceType,
              "' device type for generator but found '", chosen.device().type(), "'");
  return static_cast<DeviceGenerator*>(chosen.unsafeGetGeneratorImpl())->engine();
}

namespace {

const Bindings generator_bindings([](py::module_& m) {
  m.def("default_generator", [](int device) {
    const at::Generator& generator = default_generator(static_cast<c10::DeviceIndex>(device));
    return py::reinterpret_steal<py::object>(THPGenerator_initDefaultGenerator(generator));
  });
});

}  // namespace

}  // namespace openreg
