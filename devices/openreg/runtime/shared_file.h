// Memory that can be mapped more than once.
#pragma once

#include <cstddef>

namespace sim {

// A file of `bytes` zeros that has no name and takes no room until it is written
// to. Returns its descriptor, or -1 when the system has none to give.
int make_shared_file(size_t bytes);

// A descriptor of its own that claims the range, and of which copies may go to
// other processes. The claim ends when the last copy is closed, also by the end
// of a process. -1 where the system knows no such claims.
int claim_range(int file, size_t offset, size_t bytes);
// Whether anybody has claimed a byte of the range.
bool is_claimed(int file, size_t offset, size_t bytes);

}  // namespace sim
