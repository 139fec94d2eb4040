#include "reference/core/math.hpp"

#include <sleef.h>

#include <cmath>

namespace assay::math {

double exp(double x) { return Sleef_cinz_expd1_u10purec(x); }
double exp2(double x) { return Sleef_cinz_exp2d1_u10purec(x); }
double expm1(double x) { return Sleef_cinz_expm1d1_u10purec(x); }
double log(double x) { return Sleef_cinz_logd1_u10purec(x); }
double log2(double x) { return Sleef_cinz_log2d1_u10purec(x); }
double log1p(double x) { return Sleef_cinz_log1pd1_u10purec(x); }
double sin(double x) { return Sleef_cinz_sind1_u10purec(x); }
double cos(double x) { return Sleef_cinz_cosd1_u10purec(x); }
double tanh(double x) { return Sleef_cinz_tanhd1_u10purec(x); }
double erf(double x) { return Sleef_cinz_erfd1_u10purec(x); }
double pow(double x, double y) { return Sleef_cinz_powd1_u10purec(x, y); }
double sqrt(double x) { return std::sqrt(x); }

}  // namespace assay::math
