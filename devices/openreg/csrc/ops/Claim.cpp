// torch/library.h: operators that a default of PyTorch's would take first.
#include "Claim.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <set>
#include <string>

#include "Fallback.h"

namespace openreg {

void claim(torch::Library& m, c10::DispatchKey host) {
  // Copies cross devices, which the fallback refuses.
  static const std::set<std::string> excluded = {"aten::copy_", "aten::_copy_from", "aten::copy_sparse_to_sparse_",
                                                 "aten::_to_copy"};
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    if (!name.name.starts_with("aten::") || excluded.contains(name.name)) continue;
    const auto op = dispatcher.findOp(name);
    if (!op || !op->hasSchema() || !op->hasKernelForDispatchKey(host)) continue;
    m.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&fallback_any_layout>());
  }
}

}  // namespace openreg
