// Memory that can be mapped more than once.
#pragma once

#include <cstddef>

namespace sim {

// A file of `bytes` zeros that has no name and takes no room until it is written
// to. Returns its descriptor, or -1 when the system has none to give.
int make_shared_file(size_t bytes);

}  // namespace sim
