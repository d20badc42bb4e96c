// A test is a function with a name; a failed expectation prints where and goes
// on. No framework, so that the runtime builds with nothing but a compiler.
#pragma once

#include <cstdio>
#include <vector>

#include "../include/openreg_sim.h"

struct TestCase {
  const char* name;
  void (*run)();
};

inline std::vector<TestCase>& test_cases() {
  static std::vector<TestCase> cases;
  return cases;
}

inline int& failures() {
  static int count = 0;
  return count;
}

struct TestRegistration {
  TestRegistration(const char* name, void (*run)()) { test_cases().push_back({name, run}); }
};

#define TEST(name)                                              \
  static void name();                                           \
  static const TestRegistration registration_of_##name(#name, name); \
  static void name()

#define EXPECT(condition)                                                        \
  do {                                                                           \
    if (!(condition)) {                                                          \
      std::printf("%s:%d: expected %s (last error: %s)\n", __FILE__, __LINE__, #condition, sim_last_error()); \
      ++failures();                                                              \
    }                                                                            \
  } while (0)

#define EXPECT_STATUS(expression, status) EXPECT((expression) == (status))
#define EXPECT_OK(expression) EXPECT_STATUS(expression, SIM_OK)
