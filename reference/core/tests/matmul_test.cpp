#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "reference/core/kernels.hpp"
#include "reference/core/tests/kernels_testing.hpp"

namespace assay {
namespace {

using testing::bits;
using testing::Random;

struct Case {
  Index m, n, k;
  int a_layout, b_layout;  // 0 rows contiguous, 1 columns contiguous, 2 neither, 3 rows reversed
};

struct Operand {
  std::vector<double> memory;
  Index origin = 0, rs = 0, cs = 0;
  Operand(Index rows, Index cols, int layout, Random& random) {
    rs = layout == 1 ? 1 : layout == 2 ? 3 * cols + 5 : cols;
    cs = layout == 1 ? rows + 1 : layout == 2 ? 3 : 1;
    memory.resize(static_cast<std::size_t>(rows * (rs < 0 ? -rs : rs) + cols * cs + 1));
    for (double& x : memory) x = std::ldexp(random.between(-1, 1), static_cast<int>(random.index(40)) - 20);
    if (layout == 3 && rows > 0) {
      origin = (rows - 1) * rs;
      rs = -rs;
    }
  }
  const double* data() const { return memory.data() + origin; }
};

void expect_chain(const testing::IsaTable& isa, const Case& s, Random& random) {
  const Operand a(s.m, s.k, s.a_layout, random), b(s.k, s.n, s.b_layout, random);
  const Index c_rs = s.n + 3;
  const double untouched = -7.25;
  std::vector<double> c(static_cast<std::size_t>(s.m * c_rs + 1), untouched);
  std::vector<double> scratch(ASSAY_MATMUL_SCRATCH, std::nan(""));
  isa.kernels->matmul(a.data(), a.rs, a.cs, b.data(), b.rs, b.cs, c.data(), c_rs, s.m, s.n, s.k, scratch.data());
  for (Index i = 0; i < s.m; ++i)
    for (Index j = 0; j < c_rs; ++j) {
      double acc = j < s.n ? 0.0 : untouched;
      for (Index p = 0; p < s.k && j < s.n; ++p)
        acc = std::fma(a.data()[i * a.rs + p * a.cs], b.data()[p * b.rs + j * b.cs], acc);
      ASSERT_EQ(bits(acc), bits(c[static_cast<std::size_t>(i * c_rs + j)]))
          << isa.name << " m=" << s.m << " n=" << s.n << " k=" << s.k << " a=" << s.a_layout << " b=" << s.b_layout
          << " at " << i << "," << j;
    }
  EXPECT_EQ(untouched, c.back());
}

TEST(Matmul, EveryOutputIsOneChainOfFma) {
  Random random(1);
  Index cases = 0;
  for (const auto& isa : testing::isas_here()) {
    for (Index m : {0, 1, 2, 3, 5, 8, 9, 17})
      for (Index n : {0, 1, 2, 3, 4, 7, 8, 12, 13, 24, 25, 49})
        for (Index k : {0, 1, 2, 7, 33}) {
          expect_chain(isa, {m, n, k, static_cast<int>(random.index(4)), static_cast<int>(random.index(4))}, random);
          ++cases;
        }
    // Beyond one block of k (256), of rows (512), of columns (1536), and few columns with many rows (512 at a time).
    for (const Case& s : {Case{9, 30, 600, 0, 0}, Case{6, 5, 257, 1, 1}, Case{530, 9, 3, 2, 0}, Case{530, 27, 2, 1, 3},
                          Case{3, 1600, 5, 0, 0}, Case{20, 1550, 3, 3, 2}, Case{1100, 1, 40, 0, 0},
                          Case{1030, 3, 300, 2, 1}, Case{1, 40, 513, 0, 1}}) {
      expect_chain(isa, s, random);
      ++cases;
    }
  }
  EXPECT_GT(cases, 400);
}

TEST(Matmul, SpecialValuesPassThroughTheChain) {
  const double inf = HUGE_VAL;
  for (const auto& isa : testing::isas_here()) {
    std::vector<double> scratch(ASSAY_MATMUL_SCRATCH), c(1);
    const auto one = [&](std::vector<double> a, std::vector<double> b) {
      isa.kernels->matmul(a.data(), 0, 1, b.data(), 1, 0, c.data(), 1, 1, 1, static_cast<Index>(a.size()),
                          scratch.data());
      return c[0];
    };
    EXPECT_EQ(bits(0.0), bits(one({-0.0}, {1.0}))) << isa.name;
    EXPECT_EQ(bits(inf), bits(one({1.0, inf}, {5.0, 2.0}))) << isa.name;
    EXPECT_TRUE(std::isnan(one({0.0, 1.0}, {inf, 2.0}))) << isa.name;
    EXPECT_EQ(0x1p-1074, one({0x1p-1074, 0x1p-600}, {1.0, 0x1p-600})) << isa.name;
    // Only a fused product keeps the last bit of 1 - (1 + e)(1 - e).
    EXPECT_EQ(0x1p-60, one({-1.0, -(1 + 0x1p-30)}, {-1.0, 1 - 0x1p-30})) << isa.name;
  }
}

TEST(Matmul, ThreadsDoNotChangeBits) {
  Random random(2);
  for (const auto& [m, n, k] : {std::array<Index, 3>{300, 130, 70}, {60, 500, 90}, {2000, 3, 400}}) {
    const Operand a(m, k, 0, random), b(k, n, 1, random);
    std::vector<double> one(static_cast<std::size_t>(m * n)), many = one;
    kernels::matmul_serial(a.data(), a.rs, a.cs, b.data(), b.rs, b.cs, one.data(), n, m, n, k);
    kernels::matmul(a.data(), a.rs, a.cs, b.data(), b.rs, b.cs, many.data(), n, m, n, k);
    for (std::size_t i = 0; i < one.size(); ++i) ASSERT_EQ(bits(one[i]), bits(many[i]));
  }
}

}  // namespace
}  // namespace assay
