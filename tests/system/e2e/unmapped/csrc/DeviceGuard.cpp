// c10/core/impl/DeviceGuardImplInterface.h: one device with one stream, which is
// always done.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "Runtime.h"

namespace mydevice {
namespace {

// The types that the CPU's kernels convert to and from. PyTorch knows more, such
// as bits8 and int4, whose tensors can only be made and viewed.
constexpr unsigned kSupportedTypes[] = {
    c10::kIndex_Bool,          c10::kIndex_Byte,          c10::kIndex_Char,            c10::kIndex_Short,
    c10::kIndex_Int,           c10::kIndex_Long,          c10::kIndex_UInt16,          c10::kIndex_UInt32,
    c10::kIndex_UInt64,        c10::kIndex_Half,          c10::kIndex_BFloat16,        c10::kIndex_Float,
    c10::kIndex_Double,        c10::kIndex_ComplexHalf,   c10::kIndex_ComplexFloat,    c10::kIndex_ComplexDouble,
    c10::kIndex_Float8_e5m2,   c10::kIndex_Float8_e4m3fn, c10::kIndex_Float8_e5m2fnuz, c10::kIndex_Float8_e4m3fnuz,
    c10::kIndex_Float8_e8m0fnu, c10::kIndex_QInt8,        c10::kIndex_QUInt8,          c10::kIndex_QInt32,
    c10::kIndex_QUInt4x2,      c10::kIndex_QUInt2x4};

struct DeviceGuardImpl final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kDeviceType; }

  c10::Device exchangeDevice(c10::Device device) const override {
    const c10::Device before = getDevice();
    if (before != device) setDevice(device);
    return before;
  }

  c10::Device getDevice() const override { return device_of(0); }

  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.type() == kDeviceType, "expected a device of type mydevice, got ", device);
    existing(index_or_current(device));
  }

  void uncheckedSetDevice(c10::Device) const noexcept override {}

  c10::Stream getStream(c10::Device device) const override {
    return c10::Stream(c10::Stream::DEFAULT, device_of(existing(index_or_current(device))));
  }
  c10::Stream getDefaultStream(c10::Device device) const override { return getStream(device); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return getStream(device); }
  c10::Stream getNewStream(c10::Device device, int) const override { return getStream(device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return getStream(stream.device()); }

  c10::DeviceIndex deviceCount() const noexcept override { return device_count(); }

  c10::DeviceCapability getDeviceCapability(c10::Device device) const override {
    existing(index_or_current(device));
    c10::DeviceCapability capability;
    capability.capability_data.capability_bits = 0;
    for (const unsigned index : kSupportedTypes) capability.capability_data.capability_bits |= uint64_t{1} << index;
    return capability;
  }

  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeStream(const c10::Stream&) const override {}
  void synchronizeDevice(const c10::DeviceIndex device) const override { existing(device); }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, DeviceGuardImpl);

}  // namespace
}  // namespace mydevice
