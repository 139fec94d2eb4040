#include "reference/core/math.hpp"

#include <sleef.h>

#include <cmath>
#include <limits>

#include "reference/core/kernels/table.h"

// SLEEF 3.5's exp is infinite from 709.78271114955743 on, where the exact value is still finite up to
// 709.78271289338397 (e^x = 1.797690e308 to 1.797693e308); its log1p is infinite from 2^1019 on, and +0 at the smallest
// subnormals.

/// e^x for x > L = ASSAY_EXP_LIMIT, as e^L + e^L (e^d - 1) with d = x - L (exact): below 0.51 ulp, as d < 2e-6 where
/// e^x is finite. e^L is hi + lo to 106 bits; three terms of the series leave d^3 / 24 = 3e-19, relative to the second
/// part.
double assay_exp_above_limit(double x) {
  if (x > 0x1.62e42fefa39efp+9) return std::numeric_limits<double>::infinity();
  const double hi = 0x1.ffffc571878bep+1023, lo = -0x1.a588bd7081801p+969, d = x - ASSAY_EXP_LIMIT;
  return hi + (hi * (d * (1.0 + d / 2.0 * (1.0 + d / 3.0))) + lo);
}
/// log(1 + x) = log(x) + 1/x - ...: below 2^-1000 apart.
double assay_log1p_above_limit(double x) { return Sleef_cinz_logd1_u10purec(x); }

namespace assay::math {

double exp(double x) { return x > ASSAY_EXP_LIMIT ? assay_exp_above_limit(x) : Sleef_cinz_expd1_u10purec(x); }
double exp2(double x) { return Sleef_cinz_exp2d1_u10purec(x); }
double expm1(double x) { return Sleef_cinz_expm1d1_u10purec(x); }
double log(double x) { return Sleef_cinz_logd1_u10purec(x); }
double log2(double x) { return Sleef_cinz_log2d1_u10purec(x); }
double log1p(double x) {
  if (x > ASSAY_LOG1P_LIMIT) return assay_log1p_above_limit(x);
  return std::fabs(x) < 0x1p-54 ? x : Sleef_cinz_log1pd1_u10purec(x);
}
double sin(double x) { return Sleef_cinz_sind1_u10purec(x); }
double cos(double x) { return Sleef_cinz_cosd1_u10purec(x); }
double tanh(double x) { return Sleef_cinz_tanhd1_u10purec(x); }
double erf(double x) { return Sleef_cinz_erfd1_u10purec(x); }
double pow(double x, double y) { return Sleef_cinz_powd1_u10purec(x, y); }
double sqrt(double x) { return std::sqrt(x); }

}  // namespace assay::math
