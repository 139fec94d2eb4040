/* The vector type of the instruction set that this file is compiled for. Everything here is static (or a macro): an
   inline function with a name visible outside could be merged by the linker with its twin of another instruction set.
   W doubles a vector; operators +, -, *, / and comparisons are the compiler's. */
#ifndef ASSAY_REFERENCE_CORE_KERNELS_SIMD_H
#define ASSAY_REFERENCE_CORE_KERNELS_SIMD_H
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define ASSAY_INLINE static inline __attribute__((always_inline))
/* Whatever one file gives to another lies in a namespace of its instruction set. */
#if defined(ASSAY_KERNELS_AVX512)
static constexpr int W = 8;
#define ASSAY_ISA assay_avx512
#elif defined(ASSAY_KERNELS_AVX2)
static constexpr int W = 4;
#define ASSAY_ISA assay_avx2
#else
static constexpr int W = 2;
#define ASSAY_ISA assay_base
#endif

typedef double Vec __attribute__((vector_size(W * 8)));
typedef double VecAnywhere __attribute__((vector_size(W * 8), aligned(8), may_alias));

ASSAY_INLINE Vec load(const double* p) { return *(const VecAnywhere*)p; }
ASSAY_INLINE void store(double* p, Vec v) { *(VecAnywhere*)p = v; }
ASSAY_INLINE Vec broadcast(double x) {
#if defined(ASSAY_KERNELS_AVX512)
  return (Vec)_mm512_set1_pd(x);
#elif defined(ASSAY_KERNELS_AVX2)
  return (Vec)_mm256_set1_pd(x);
#else
  return Vec{x, x};
#endif
}
/* Whether a > b in any lane. */
ASSAY_INLINE bool any_greater(Vec a, Vec b) {
#if defined(ASSAY_KERNELS_AVX512)
  return _mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_GT_OQ) != 0;
#elif defined(ASSAY_KERNELS_AVX2)
  return _mm256_movemask_pd(_mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_GT_OQ)) != 0;
#else
  return a[0] > b[0] || a[1] > b[1];
#endif
}
/* a * b + c, rounded once, in each lane. Without FMA hardware this is the C library's fma: exact, and slow. */
ASSAY_INLINE Vec fma(Vec a, Vec b, Vec c) {
#if defined(ASSAY_KERNELS_AVX512)
  return (Vec)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(ASSAY_KERNELS_AVX2)
  return (Vec)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#else
  return Vec{__builtin_fma(a[0], b[0], c[0]), __builtin_fma(a[1], b[1], c[1])};
#endif
}

#endif
