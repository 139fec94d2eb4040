#include "reference/core/readings/dual.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/core/readings/wide.hpp"

namespace assay {
namespace {

// d/dx 2^x = ln 2 2^x, against double-double, within the derivative's own worst case.
TEST(Dual, DerivativeOfExp2) {
  for (int i = -400; i <= 400; ++i) {
    const double x = i / 7.0;
    const Dual y = exp2(Dual(Bound(x), Bound(3)));
    const Wide exact = log(Wide(2)) * exp2(Wide(x)) * Wide(3);
    const double error = std::fabs(value(Wide(y.d.v) - exact));
    EXPECT_LE(error, y.d.w) << x;
    EXPECT_LE(y.d.w, 32 * 0x1p-53 * exact.hi) << x;  // exp2, ln 2 and two products: a handful of units
    EXPECT_EQ(value(y), exp2(Bound(x)).v);
  }
  EXPECT_EQ(exp2(Dual(Bound(-INFINITY), Bound(NAN))).d.v, 0);  // what has no weight has no derivative
}

}  // namespace
}  // namespace assay
