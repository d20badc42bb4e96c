// c10/core/impl/DeviceGuardImplInterface.h: device, stream and event switching
// for everything in PyTorch that is written against "the accelerator".
//
// Thread safety: the guard has no state of its own; the current device and the
// current streams are thread local, events are locked by the runtime.
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <c10/core/Allocator.h>

#include "Runtime.h"
#include "Streams.h"

namespace openreg {
namespace {

// An event holds the device on which it was first recorded, as the runtime's.
sim_event* as_event(void* event) { return static_cast<sim_event*>(event); }

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

  c10::Device getDevice() const override {
    int current = 0;
    check(sim_device_get(&current));
    return device_of(static_cast<c10::DeviceIndex>(current));
  }

  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.type() == kDeviceType, "expected a device of type openreg, got ", device);
    check(sim_device_set(index_or_current(device)));
  }

  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) (void)sim_device_set(device.index());
  }

  c10::Stream getStream(c10::Device device) const override { return current_stream(index_or_current(device)); }
  c10::Stream getDefaultStream(c10::Device device) const override { return default_stream(index_or_current(device)); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool high_priority) const override {
    return pool_stream(index_or_current(device), high_priority ? -1 : 0);
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return pool_stream(index_or_current(device), priority);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override { return exchange_stream(stream); }
  void* getStreamNativeHandle(const c10::Stream stream) const override { return handle_of(stream); }

  c10::DeviceIndex deviceCount() const noexcept override { return device_count(); }

  c10::DeviceCapability getDeviceCapability(c10::Device device) const override {
    existing(index_or_current(device));
    c10::DeviceCapability capability;
    capability.capability_data.capability_bits = 0;
    for (const unsigned index : kSupportedTypes) capability.capability_data.capability_bits |= uint64_t{1} << index;
    return capability;
  }

  bool queryStream(const c10::Stream& stream) const override { return finished(sim_stream_query(handle_of(stream))); }
  void synchronizeStream(const c10::Stream& stream) const override {
    check(sim_stream_synchronize(handle_of(stream)));
  }
  void synchronizeDevice(const c10::DeviceIndex device) const override { check(sim_device_synchronize(device)); }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex, const c10::EventFlag flag)
      const override {
    if (*event == nullptr) {
      sim_event* created = nullptr;
      check(sim_event_create(stream.device_index(), flag == c10::EventFlag::BACKEND_DEFAULT, &created));
      *event = created;
    }
    check(sim_event_record(as_event(*event), handle_of(stream)));
  }

  void block(void* event, const c10::Stream& stream) const override {
    if (event != nullptr) check(sim_stream_wait_event(handle_of(stream), as_event(event)));
  }
  bool queryEvent(void* event) const override {
    return event == nullptr || finished(sim_event_query(as_event(event)));
  }
  void synchronizeEvent(void* event) const override {
    if (event != nullptr) check(sim_event_synchronize(as_event(event)));
  }
  double elapsedTime(void* start, void* end, const c10::DeviceIndex) const override {
    TORCH_CHECK(start != nullptr && end != nullptr,
                "Both events must be recorded before calculating elapsed time.");
    double milliseconds = 0;
    check(sim_event_elapsed_ms(as_event(start), as_event(end), &milliseconds));
    return milliseconds;
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    if (event != nullptr) (void)sim_event_destroy(as_event(event));
  }

  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    check(sim_pool_record_stream(data.get(), handle_of(stream)));
  }

 private:
  static bool finished(sim_status status) {
    if (status == SIM_NOT_READY) return false;
    check(status);
    return true;
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, DeviceGuardImpl);

}  // namespace
}  // namespace openreg
