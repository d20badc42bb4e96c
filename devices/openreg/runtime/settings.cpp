#include "settings.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "device.h"
#include "fault.h"

namespace sim {
namespace {

struct Reading {
  Settings settings;
  std::string error;

  Reading() {
    settings.devices = static_cast<int>(number("OPENREG_DEVICE_COUNT", 2, kMaxDevices));
    settings.memory_limit = number("OPENREG_MEMORY_LIMIT", settings.memory_limit, SIZE_MAX);
  }

  size_t number(const char* name, size_t otherwise, size_t most) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') return otherwise;
    char* end = nullptr;
    errno = 0;
    const unsigned long long value = std::strtoull(text, &end, 10);
    if (std::isdigit(static_cast<unsigned char>(*text)) != 0 && *end == '\0' && errno == 0 && value >= 1 && value <= most) {
      return static_cast<size_t>(value);
    }
    if (error.empty()) {
      error = std::string(name) + "='" + text + "' is wrong: it takes a number from 1 to " + std::to_string(most);
    }
    return otherwise;
  }
};

const Reading& reading() {
  static const Reading* instance = new Reading();
  return *instance;
}

}  // namespace

const Settings& settings() { return reading().settings; }

}  // namespace sim

sim_status sim_check_environment(void) {
  const std::string& error = sim::reading().error;
  if (!error.empty()) return sim::fail(SIM_INVALID_VALUE, "%s", error.c_str());
  return sim::check_fault_of_environment();
}
