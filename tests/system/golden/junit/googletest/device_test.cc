#include <gtest/gtest.h>

TEST(Memory, Good) { RecordProperty("bytes", 42); }
TEST(Memory, Bad) {
  EXPECT_EQ(1, 2) << "first\nline";
  EXPECT_EQ(3, 4);
}
TEST(Memory, DISABLED_Off) {}
TEST(Memory, Skipped) { GTEST_SKIP() << "no card"; }

class Two : public testing::TestWithParam<int> {};
TEST_P(Two, Param) { EXPECT_EQ(GetParam(), 0); }
INSTANTIATE_TEST_SUITE_P(P, Two, testing::Values(0, 1));
