// Runs all tests, or those whose name is given.
#include <cstring>

#include "harness.h"

int main(int argc, char** argv) {
  int run = 0;
  for (const TestCase& test : test_cases()) {
    bool chosen = argc == 1;
    for (int i = 1; i < argc; ++i) chosen |= std::strcmp(argv[i], test.name) == 0;
    if (!chosen) continue;
    const int before = failures();
    test.run();
    // What one test leaves behind must not reach the next.
    sim_fault_set(nullptr);
    for (int device = 0; device < sim_device_count(); ++device) EXPECT_OK(sim_device_reset(device));
    std::printf("%s %s\n", failures() == before ? "ok  " : "FAIL", test.name);
    ++run;
  }
  std::printf("%d tests, %d failures\n", run, failures());
  return run == 0 || failures() > 0 ? 1 : 0;
}
