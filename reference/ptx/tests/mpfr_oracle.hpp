#pragma once
#include <mpfr.h>

#include <cstdint>

#include "reference/core/format.hpp"

// One operation of a floating-point format as MPFR computes it: rounded once, subnormals and signs of zeros as IEEE 754
// has them. The formats have at most the precision and range of double, so results are read as double.
namespace assay::ptx::testing {

class Oracle {
 public:
  explicit Oracle(const Format& f)
      : p_(f.mantissa_bits + 1), least_(f.emin() - f.mantissa_bits + 1), most_(f.emax() + 1) {
    mpfr_inits2(53, a_, b_, c_, nullptr);
    mpfr_init2(d_, p_);
  }
  ~Oracle() {
    mpfr_clears(a_, b_, c_, d_, nullptr);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
  }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  double add(double a, double b, Round r) {
    return run(a, b, 0, r, [&](mpfr_rnd_t m) { return mpfr_add(d_, a_, b_, m); });
  }
  double sub(double a, double b, Round r) {
    return run(a, b, 0, r, [&](mpfr_rnd_t m) { return mpfr_sub(d_, a_, b_, m); });
  }
  double mul(double a, double b, Round r) {
    return run(a, b, 0, r, [&](mpfr_rnd_t m) { return mpfr_mul(d_, a_, b_, m); });
  }
  double div(double a, double b, Round r) {
    return run(a, b, 0, r, [&](mpfr_rnd_t m) { return mpfr_div(d_, a_, b_, m); });
  }
  double sqrt(double a, Round r) {
    return run(a, 0, 0, r, [&](mpfr_rnd_t m) { return mpfr_sqrt(d_, a_, m); });
  }
  double fma(double a, double b, double c, Round r) {
    return run(a, b, c, r, [&](mpfr_rnd_t m) { return mpfr_fma(d_, a_, b_, c_, m); });
  }
  double convert(double a, Round r) {
    return run(a, 0, 0, r, [&](mpfr_rnd_t m) { return mpfr_set(d_, a_, m); });
  }

 private:
  template <class F>
  double run(double a, double b, double c, Round r, F f) {
    const mpfr_rnd_t m = r == Round::nearest_even  ? MPFR_RNDN
                         : r == Round::toward_zero ? MPFR_RNDZ
                         : r == Round::up          ? MPFR_RNDU
                                                   : MPFR_RNDD;
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_set_d(a_, a, MPFR_RNDN);
    mpfr_set_d(b_, b, MPFR_RNDN);
    mpfr_set_d(c_, c, MPFR_RNDN);
    mpfr_set_emin(least_);
    mpfr_set_emax(most_);
    int t = f(m);
    t = mpfr_check_range(d_, t, m);
    mpfr_subnormalize(d_, t, m);
    return mpfr_get_d(d_, MPFR_RNDN);
  }
  mpfr_t a_, b_, c_, d_;
  int p_, least_, most_;
};

}  // namespace assay::ptx::testing
