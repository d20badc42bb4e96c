// torch/library.h: giving a layout's dispatch key to the fallback.
#pragma once

#include <torch/library.h>

namespace openreg {

// Sends every operator with a kernel on the `host` key to the fallback. PyTorch
// gives some operators a default for unknown devices that only raises ("expected
// sparse coordinate tensor layout"), and a default comes before a fallback.
void claim(torch::Library& m, c10::DispatchKey host);

}  // namespace openreg
