// c10/core/Stream.h: maps stream ids to the runtime's streams.
#pragma once

#include <c10/core/Stream.h>

#include "Runtime.h"

namespace openreg {

// A c10::Stream carries an id only. Ours is the index into the device's table
// of streams: 0 is the default stream, which every thread starts with.
sim_stream* handle_of(c10::Stream stream);

c10::Stream default_stream(c10::DeviceIndex device);
// The calling thread's current stream for the device.
c10::Stream current_stream(c10::DeviceIndex device);
// Sets it and returns the one before.
c10::Stream exchange_stream(c10::Stream stream);
// The next stream of the device's pool, in turn. Two calls may meet the same
// stream when the pool has gone round. Priorities are 0 and -1, which comes first.
c10::Stream pool_stream(c10::DeviceIndex device, int priority);

inline sim_stream* current_handle(c10::DeviceIndex device) { return handle_of(current_stream(device)); }

}  // namespace openreg
