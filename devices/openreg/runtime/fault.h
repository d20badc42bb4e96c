// The fault switch: lets a test suite see how each kind of failure is reported.
#pragma once

#include "status.h"

namespace sim {

enum class FaultPoint { kLaunch, kCopy, kMalloc, kSync };
enum class FaultKind { kNone, kCrash, kHang, kWrongResult, kSlow, kLostDevice, kOutOfMemory };

// Counts the call and tells whether the configured fault is due now. Slow and
// wrong-result faults stay on from the chosen call onwards; the others fire once.
FaultKind fault_at(FaultPoint point);

// The same for a place where only one kind makes sense.
bool fault_fires(FaultPoint point, FaultKind kind);

// Says that the next call at this point repeats the last one: it is not counted
// again, so a fault that hit the first attempt hits the second one, too.
void repeat_call(FaultPoint point);

// SIM_INVALID_VALUE if OPENREG_FAULT names no fault.
sim_status check_fault_of_environment();

}  // namespace sim
