// Comparisons against a table: which of less, equal, greater, unordered each one holds for.
#include "reference/ptx/compare.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

struct Row {
  Compare op;
  std::string holds;  // of l, e, g, u
};
const Row kRows[] = {{Compare::eq, "e"},    {Compare::ne, "lg"},   {Compare::lt, "l"},   {Compare::le, "le"},
                     {Compare::gt, "g"},    {Compare::ge, "ge"},   {Compare::equ, "eu"}, {Compare::neu, "lgu"},
                     {Compare::ltu, "lu"},  {Compare::leu, "leu"}, {Compare::gtu, "gu"}, {Compare::geu, "geu"},
                     {Compare::num, "leg"}, {Compare::nan, "u"}};
const Row kUnsigned[] = {{Compare::lo, "l"}, {Compare::ls, "le"}, {Compare::hi, "g"}, {Compare::hs, "ge"}};

TEST(Comparisons, Floats) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const double values[] = {nan, -inf, -1, -0.0, 0.0, 5e-324, 1, inf};
  const int order[] = {99, -3, -2, 0, 0, 1, 2, 3};  // -0 and +0 are equal
  for (const Row& row : kRows)
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j) {
        const char is = i == 0 || j == 0 ? 'u' : order[i] < order[j] ? 'l' : order[i] > order[j] ? 'g' : 'e';
        EXPECT_EQ(compare(row.op, values[i], values[j]), row.holds.find(is) != std::string::npos)
            << row.holds << i << j;
        EXPECT_EQ(compare(row.op, static_cast<float>(values[i]), static_cast<float>(values[j])),
                  compare(row.op, static_cast<double>(static_cast<float>(values[i])),
                          static_cast<double>(static_cast<float>(values[j]))));
      }
}

template <class T>
void integers() {
  for (T a : testing::integers<T>())
    for (T b : testing::integers<T>()) {
      const std::int64_t apart = std::int64_t{a} - std::int64_t{b};
      for (int i = 0; i < 6; ++i)
        ASSERT_EQ(compare(kRows[i].op, a, b), kRows[i].holds.find(apart < 0   ? 'l'
                                                                  : apart > 0 ? 'g'
                                                                              : 'e') != std::string::npos);
      const std::uint64_t mask = (std::uint64_t{1} << (8 * sizeof(T))) - 1;
      const std::uint64_t x = static_cast<std::uint64_t>(a) & mask, y = static_cast<std::uint64_t>(b) & mask;
      for (const Row& row : kUnsigned)
        ASSERT_EQ(compare(row.op, a, b), row.holds.find(x < y ? 'l' : x > y ? 'g' : 'e') != std::string::npos);
    }
}
TEST(Comparisons, Integers) {
  integers<std::int32_t>();
  integers<std::uint32_t>();
  integers<std::int16_t>();
}

TEST(Comparisons, CombineAndSelect) {
  for (bool p : {false, true})
    for (bool c : {false, true}) {
      EXPECT_EQ(combine(Combine::logical_and, p, c), p & c);
      EXPECT_EQ(combine(Combine::logical_or, p, c), p | c);
      EXPECT_EQ(combine(Combine::logical_xor, p, c), p ^ c);
    }
  EXPECT_EQ(slct(1, 2, 0), 1);
  EXPECT_EQ(slct(1, 2, -1), 2);
  EXPECT_EQ(slct(1, 2, -0.0F), 1);
  EXPECT_EQ(slct(1, 2, std::numeric_limits<float>::quiet_NaN()), 2);
}

}  // namespace
}  // namespace assay::ptx
