#include <sleef.h>

#include "reference/core/kernels/parts.h"

// SLEEF's deterministic forms without fma: they give the bits of its scalar C forms, in wider vectors. Named one by
// one, never through SLEEF's dispatcher.

#if defined(ASSAY_KERNELS_AVX512)
#define ASSAY_SLEEF(name) (Vec) Sleef_cinz_##name##d8_u10avx512fnofma((__m512d)v)
#elif defined(ASSAY_KERNELS_AVX2)
#define ASSAY_SLEEF(name) (Vec) Sleef_cinz_##name##d4_u10avx((__m256d)v)
#elif defined(__x86_64__)
#define ASSAY_SLEEF(name) (Vec) Sleef_cinz_##name##d2_u10sse2((__m128d)v)
#else
#define ASSAY_SLEEF(name) \
  Vec { Sleef_cinz_##name##d1_u10purec(v[0]), Sleef_cinz_##name##d1_u10purec(v[1]) }
#endif

namespace ASSAY_ISA {
namespace {

// f on whole vectors; the last few elements in a vector filled up with zeros.
template <class F>
ASSAY_INLINE void map(const double* x, double* y, int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + W <= n; i += W) store(y + i, f(load(x + i)));
  if (i < n) {
    double rest[W] = {};
    for (int l = 0; i + l < n; ++l) rest[l] = x[i + l];
    store(rest, f(load(rest)));
    for (int l = 0; i + l < n; ++l) y[i + l] = rest[l];
  }
}

// r, but special(v) in the lanes where v > limit.
template <class F>
ASSAY_INLINE Vec mended(Vec r, Vec v, double limit, const F& special) {
  if (any_greater(v, broadcast(limit)))
    for (int l = 0; l < W; ++l)
      if (v[l] > limit) r[l] = special(v[l]);
  return r;
}
ASSAY_INLINE Vec exp_of(Vec v) { return mended(ASSAY_SLEEF(exp), v, ASSAY_EXP_LIMIT, assay_exp_above_limit); }
ASSAY_INLINE Vec log1p_of(Vec v) {
  const Vec r = mended(ASSAY_SLEEF(log1p), v, ASSAY_LOG1P_LIMIT, assay_log1p_above_limit), tiny = broadcast(0x1p-54);
  return ((v < tiny) & (v > -tiny)) ? v : r;
}

}  // namespace

#define ASSAY_MAP(name)                                    \
  void name(const double* x, double* y, int64_t n) {       \
    map(x, y, n, [](Vec v) { return ASSAY_SLEEF(name); }); \
  }
ASSAY_MAP(exp2)
ASSAY_MAP(expm1)
ASSAY_MAP(log)
ASSAY_MAP(log2)
ASSAY_MAP(sin)
ASSAY_MAP(cos)
ASSAY_MAP(tanh)
ASSAY_MAP(erf)

void exp(const double* x, double* y, int64_t n) { map(x, y, n, exp_of); }
void log1p(const double* x, double* y, int64_t n) { map(x, y, n, log1p_of); }
void subtract_exp(const double* x, double m, double* y, int64_t n) {
  const Vec shift = broadcast(m);
  map(x, y, n, [shift](Vec v) { return exp_of(v - shift); });
}

}  // namespace ASSAY_ISA
