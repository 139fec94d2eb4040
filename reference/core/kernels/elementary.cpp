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

}  // namespace

#define ASSAY_MAP(name)                                    \
  void name(const double* x, double* y, int64_t n) {       \
    map(x, y, n, [](Vec v) { return ASSAY_SLEEF(name); }); \
  }
ASSAY_MAP(exp)
ASSAY_MAP(exp2)
ASSAY_MAP(expm1)
ASSAY_MAP(log)
ASSAY_MAP(log2)
ASSAY_MAP(log1p)
ASSAY_MAP(sin)
ASSAY_MAP(cos)
ASSAY_MAP(tanh)
ASSAY_MAP(erf)

void subtract_exp(const double* x, double m, double* y, int64_t n) {
  const Vec shift = broadcast(m);
  map(x, y, n, [shift](Vec u) {
    const Vec v = u - shift;
    return ASSAY_SLEEF(exp);
  });
}

}  // namespace ASSAY_ISA
