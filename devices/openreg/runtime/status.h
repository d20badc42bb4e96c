// Failure reporting shared by the files of the runtime.
#pragma once

#include "include/openreg_sim.h"

namespace sim {

// Stores the text for the calling thread and returns the status, so that a
// failure reads `return fail(SIM_..., "why")`.
[[gnu::format(printf, 2, 3)]] sim_status fail(sim_status status, const char* format, ...);

// SIM_OK, or SIM_BAD_FORK in a child forked after initialisation. Marks the
// process as initialised, which is what makes a later fork unusable.
sim_status enter();

}  // namespace sim

#define SIM_RETURN_IF(expression)                       \
  do {                                                  \
    const sim_status status_of_call = (expression);     \
    if (status_of_call != SIM_OK) return status_of_call; \
  } while (0)
