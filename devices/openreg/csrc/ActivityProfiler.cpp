// torch/csrc/profiler/standalone/privateuse1_profiler.h: the device's rows in
// torch.profiler. Without it a profile shows CPU events and looks healthy.
//
// Thread safety: the runtime calls back on worker threads; the recording is
// guarded by its mutex. Correlation ids are thread local in the runtime.
#include "Version.h"

#if OPENREG_HAS_ACTIVITY_PROFILER

#include <ATen/Context.h>
#include <libkineto.h>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <mutex>
#include <string>
#include <vector>

#include "Runtime.h"

namespace openreg {
namespace {

using libkineto::ActivityType;

struct Entry {
  std::string name;
  sim_activity activity;
};

struct Recording {
  std::mutex mutex;
  std::vector<Entry> entries;
};

Recording& recording() {
  static Recording* instance = new Recording();
  return *instance;
}

void on_activity(const sim_activity* activity) {
  const std::lock_guard lock(recording().mutex);
  recording().entries.push_back({activity->name, *activity});
}

thread_local std::vector<uint64_t> correlations;

class Session final : public libkineto::IActivityProfilerSession {
 public:
  void start() override {
    {
      const std::lock_guard lock(recording().mutex);
      recording().entries.clear();
    }
    status_ = libkineto::TraceStatus::RECORDING;
    sim_set_activity_callback(on_activity);
  }

  void stop() override {
    // Queued work belongs to the profile, too.
    for (int device = 0; sim_initialized() != 0 && device < sim_device_count(); ++device) {
      (void)sim_device_synchronize(device);
    }
    sim_set_activity_callback(nullptr);
    status_ = libkineto::TraceStatus::PROCESSING;
  }

  std::vector<std::string> errors() override { return {}; }

  void processTrace(libkineto::ActivityLogger& logger) override { process(logger, {}); }

  void processTrace(libkineto::ActivityLogger& logger, libkineto::getLinkedActivityCallback linked, int64_t,
                    int64_t) override {
    process(logger, linked);
  }

  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override { return nullptr; }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return std::move(buffer_); }

  void pushCorrelationId(uint64_t id) override {
    correlations.push_back(id);
    sim_set_correlation(id);
  }
  void popCorrelationId() override {
    if (!correlations.empty()) correlations.pop_back();
    sim_set_correlation(correlations.empty() ? 0 : correlations.back());
  }

 private:
  void process(libkineto::ActivityLogger& logger, const libkineto::getLinkedActivityCallback& linked) {
    buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
    buffer_->gpuOpCount = 0;
    const std::lock_guard lock(recording().mutex);
    for (const Entry& entry : recording().entries) {
      const sim_activity& activity = entry.activity;
      const ActivityType type = activity.is_copy != 0 ? ActivityType::GPU_MEMCPY : ActivityType::CONCURRENT_KERNEL;
      buffer_->emplace_activity(buffer_->span, type, entry.name);
      libkineto::GenericTraceActivity& row = *buffer_->activities.back();
      row.startTime = activity.start_ns;
      row.endTime = activity.end_ns;
      row.id = static_cast<int32_t>(activity.correlation);
      row.device = activity.device;
      row.resource = activity.stream;
      if (linked && activity.correlation != 0) row.linked = linked(row.id);
      row.log(logger);
      buffer_->gpuOpCount++;
    }
    recording().entries.clear();
  }

  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

class Profiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override {
    static const std::string name = "openreg";
    return name;
  }
  const std::set<ActivityType>& availableActivities() const override {
    static const std::set<ActivityType> types = {ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY};
    return types;
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<ActivityType>& types,
                                                                 const libkineto::Config&) override {
    const bool wanted = types.contains(ActivityType::CONCURRENT_KERNEL) || types.contains(ActivityType::GPU_MEMCPY);
    return wanted ? std::make_unique<Session>() : nullptr;
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(int64_t, int64_t,
                                                                 const std::set<ActivityType>& types,
                                                                 const libkineto::Config& config) override {
    return configure(types, config);
  }
};

REGISTER_PRIVATEUSE1_PROFILER(Profiler);

// A torch that was built with CUDA starts CUPTI with the first profile of any
// accelerator, and fails where NVIDIA's driver is missing. Without a GPU,
// Kineto is started here instead, without CUPTI.
[[maybe_unused]] const bool kineto_is_ready = [] {
  if (!at::hasCUDA() && !libkineto::api().isProfilerRegistered()) {
    libkineto_init(/*cpuOnly=*/true, /*logOnError=*/true);
    torch::profiler::impl::PrivateUse1ProfilerRegistry::instance().onKinetoInit();
  }
  return true;
}();

}  // namespace
}  // namespace openreg

#endif
