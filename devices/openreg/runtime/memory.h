// What the rest of the runtime needs to know about an address.
#pragma once

namespace sim {

bool is_pinned(const void* ptr);

}  // namespace sim
