#include "fault.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "status.h"
#include "thread_safety.h"

namespace sim {
namespace {

struct Fault {
  Mutex mutex;
  std::atomic<bool> armed{false};  // spares calls the mutex when there is no fault
  FaultKind kind SIM_GUARDED_BY(mutex) = FaultKind::kNone;
  FaultPoint point SIM_GUARDED_BY(mutex) = FaultPoint::kLaunch;
  unsigned long first SIM_GUARDED_BY(mutex) = 1;
  unsigned long seen SIM_GUARDED_BY(mutex) = 0;
  std::string refused;  // what is wrong with the environment's; written before anybody else knows of this
};

sim_status parse(const char* spec, Fault& fault) SIM_REQUIRES(fault.mutex) {
  static const std::map<std::string, FaultKind> kinds = {
      {"crash", FaultKind::kCrash},         {"hang", FaultKind::kHang},
      {"wrong-result", FaultKind::kWrongResult}, {"slow", FaultKind::kSlow},
      {"lost-device", FaultKind::kLostDevice},   {"out-of-memory", FaultKind::kOutOfMemory},
      {"import", FaultKind::kNone}};  // handled in Python, before this library is used
  static const std::map<std::string, FaultPoint> points = {{"launch", FaultPoint::kLaunch},
                                                           {"copy", FaultPoint::kCopy},
                                                           {"malloc", FaultPoint::kMalloc},
                                                           {"sync", FaultPoint::kSync}};
  fault.armed = false;
  fault.kind = FaultKind::kNone;
  fault.seen = 0;
  fault.first = 1;
  if (spec == nullptr || *spec == '\0') return SIM_OK;
  const std::string text(spec);
  const size_t at = text.find('@');
  const auto kind = kinds.find(text.substr(0, at));
  if (kind == kinds.end()) {
    return fail(SIM_INVALID_VALUE,
                "unknown fault '%s': it is one of crash, hang, wrong-result, slow, lost-device, out-of-memory, import",
                spec);
  }
  fault.point = kind->second == FaultKind::kOutOfMemory ? FaultPoint::kMalloc : FaultPoint::kLaunch;
  if (at != std::string::npos) {
    const size_t colon = text.find(':', at);
    const auto point = points.find(text.substr(at + 1, colon == std::string::npos ? colon : colon - at - 1));
    if (point == points.end()) {
      return fail(SIM_INVALID_VALUE, "unknown call in fault '%s': it is one of launch, copy, malloc, sync", spec);
    }
    fault.point = point->second;
    if (colon != std::string::npos) {
      char* end = nullptr;
      fault.first = std::strtoul(text.c_str() + colon + 1, &end, 10);
      if (*end != '\0' || fault.first == 0) return fail(SIM_INVALID_VALUE, "bad count in fault '%s': calls are counted from 1", spec);
    }
  }
  fault.kind = kind->second;
  fault.armed = fault.kind != FaultKind::kNone;
  return SIM_OK;
}

Fault& fault() {
  static Fault* instance = [] {
    Fault* created = new Fault();
    Lock lock(created->mutex);
    if (parse(std::getenv("OPENREG_FAULT"), *created) != SIM_OK) {
      created->refused = std::string("OPENREG_FAULT: ") + sim_last_error();
    }
    return created;
  }();
  return *instance;
}

}  // namespace

FaultKind fault_at(FaultPoint point) {
  Fault& current = fault();
  if (!current.armed.load(std::memory_order_relaxed)) return FaultKind::kNone;
  Lock lock(current.mutex);
  if (current.kind == FaultKind::kNone || current.point != point) return FaultKind::kNone;
  ++current.seen;
  const bool lasting = current.kind == FaultKind::kSlow || current.kind == FaultKind::kWrongResult;
  const bool due = lasting ? current.seen >= current.first : current.seen == current.first;
  return due ? current.kind : FaultKind::kNone;
}

void repeat_call(FaultPoint point) {
  Fault& current = fault();
  if (!current.armed.load(std::memory_order_relaxed)) return;
  Lock lock(current.mutex);
  if (current.point == point && current.seen > 0) --current.seen;
}

sim_status check_fault_of_environment() {
  const std::string& refused = fault().refused;
  return refused.empty() ? SIM_OK : fail(SIM_INVALID_VALUE, "%s", refused.c_str());
}

bool fault_fires(FaultPoint point, FaultKind kind) { return fault_at(point) == kind; }

}  // namespace sim

sim_status sim_fault_set(const char* spec) {
  sim::Fault& current = sim::fault();
  sim::Lock lock(current.mutex);
  return sim::parse(spec, current);
}
