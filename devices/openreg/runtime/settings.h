// What the environment says, read once. A value that makes no sense is an error:
// a fault that is silently none would let a proof pass by accident.
#pragma once

#include <cstddef>

#include "status.h"

namespace sim {

struct Settings {
  int devices = 2;
  size_t memory_limit = size_t{16} << 30;
};

const Settings& settings();

}  // namespace sim
