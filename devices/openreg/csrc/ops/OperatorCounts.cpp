// ATen/core/dispatch/Dispatcher.h: the counters that tell native from fallback.
#include "OperatorCounts.h"

#include <memory>
#include <mutex>

#include "../Bindings.h"

namespace openreg {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<CallCounter>> counters;
};

Table& table() {
  static Table* instance = new Table();
  return *instance;
}

}  // namespace

CallCounter& counter_for(const std::string& name) {
  const std::lock_guard lock(table().mutex);
  std::unique_ptr<CallCounter>& counter = table().counters[name];
  if (!counter) counter = std::make_unique<CallCounter>();
  return *counter;
}

CallCounter& counter_for(const c10::OperatorHandle& op) {
  const c10::OperatorName& name = op.operator_name();
  const std::string full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
  return counter_for(full.starts_with("aten::") ? full.substr(6) : full);
}

std::map<std::string, CallCounter::Counts> operator_counts() {
  const std::lock_guard lock(table().mutex);
  std::map<std::string, CallCounter::Counts> result;
  for (const auto& [name, counter] : table().counters) {
    const CallCounter::Counts counts = counter->read();
    if (counts.native + counts.fallback > 0) result[name] = counts;
  }
  return result;
}

void reset_operator_counts() {
  const std::lock_guard lock(table().mutex);
  for (auto& [name, counter] : table().counters) counter->reset();
}

namespace {

py::dict counts_as_dict() {
  py::dict result;
  for (const auto& [name, counts] : operator_counts()) {
    py::dict entry;
    entry["native"] = counts.native;
    entry["fallback"] = counts.fallback;
    result[py::str(name)] = entry;
  }
  return result;
}

const Bindings count_bindings([](py::module_& m) {
  m.def("operator_counts", &counts_as_dict);
  m.def("reset_operator_counts", &reset_operator_counts);
});

}  // namespace

}  // namespace openreg
