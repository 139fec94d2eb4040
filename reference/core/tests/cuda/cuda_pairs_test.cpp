// The vector forms of the CUDA headers: the first element of a pair goes to the low bits, and each half is converted as
// alone.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <gtest/gtest.h>

#include "reference/core/tests/format_inputs.hpp"

namespace assay {
namespace {

using namespace formats;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

U64 pair(const Format& f, double x, double y, int width, Round mode = Round::nearest_even) {
  return encode(f, x, mode) | encode(f, y, mode) << width;
}

TEST(CudaPairs, OfFloatsAndDoubles) {
  for (U32 h = 0; h < 65536; ++h) {
    const double x = decode(bf16, h), y = decode(fp16, (h * 40503u) & 0xFFFF);
    const float2 two{static_cast<float>(x), static_cast<float>(y)};
    // The vendor's NaN from double is another one: see CudaFormats.NanFromDouble.
    const double2 wide{std::isnan(x) ? 1 : x, std::isnan(y) ? 2 : y};
    ASSERT_EQ(pair(e4m3, x, y, 8), __nv_cvt_float2_to_fp8x2(two, __NV_SATFINITE, __NV_E4M3)) << x << ' ' << y;
    ASSERT_EQ(pair(e5m2, wide.x, wide.y, 8), __nv_cvt_double2_to_fp8x2(wide, __NV_SATFINITE, __NV_E5M2))
        << x << ' ' << y;
    ASSERT_EQ(pair(e3m2, x, y, 8), __nv_cvt_float2_to_fp6x2(two, __NV_E3M2, cudaRoundNearest)) << x << ' ' << y;
    ASSERT_EQ(pair(e2m3, wide.x, wide.y, 8), __nv_cvt_double2_to_fp6x2(wide, __NV_E2M3, cudaRoundNearest))
        << x << ' ' << y;
    ASSERT_EQ(pair(e2m1, x, y, 4), __nv_cvt_float2_to_fp4x2(two, __NV_E2M1, cudaRoundNearest)) << x << ' ' << y;
    ASSERT_EQ(pair(e2m1, wide.x, wide.y, 4), __nv_cvt_double2_to_fp4x2(wide, __NV_E2M1, cudaRoundNearest))
        << x << ' ' << y;
    ASSERT_EQ(pair(e8m0, x, y, 8, Round::up), __nv_cvt_float2_to_e8m0x2(two, __NV_SATFINITE, cudaRoundPosInf));
    ASSERT_EQ(pair(e8m0, wide.x, wide.y, 8, Round::toward_zero),
              __nv_cvt_double2_to_e8m0x2(wide, __NV_SATFINITE, cudaRoundZero));
  }
}

TEST(CudaPairs, OfHalvesAndBf16) {
  for (U32 h = 0; h < 65536; ++h) {
    const U32 g = (h * 40503u) & 0xFFFF;
    __half2_raw half;
    half.x = static_cast<unsigned short>(h);
    half.y = static_cast<unsigned short>(g);
    __nv_bfloat162_raw brain;
    brain.x = half.x;
    brain.y = half.y;
    const double x = decode(fp16, h), y = decode(fp16, g), v = decode(bf16, h), w = decode(bf16, g);
    ASSERT_EQ(pair(e4m3, x, y, 8), __nv_cvt_halfraw2_to_fp8x2(half, __NV_SATFINITE, __NV_E4M3)) << h;
    ASSERT_EQ(pair(e5m2, v, w, 8), __nv_cvt_bfloat16raw2_to_fp8x2(brain, __NV_SATFINITE, __NV_E5M2)) << h;
    ASSERT_EQ(pair(e3m2, x, y, 8), __nv_cvt_halfraw2_to_fp6x2(half, __NV_E3M2, cudaRoundNearest)) << h;
    ASSERT_EQ(pair(e2m3, v, w, 8), __nv_cvt_bfloat16raw2_to_fp6x2(brain, __NV_E2M3, cudaRoundNearest)) << h;
    ASSERT_EQ(pair(e2m1, x, y, 4), __nv_cvt_halfraw2_to_fp4x2(half, __NV_E2M1, cudaRoundNearest)) << h;
    ASSERT_EQ(pair(e2m1, v, w, 4), __nv_cvt_bfloat16raw2_to_fp4x2(brain, __NV_E2M1, cudaRoundNearest)) << h;
    ASSERT_EQ(pair(e8m0, v, w, 8, Round::up), __nv_cvt_bfloat162raw_to_e8m0x2(brain, __NV_SATFINITE, cudaRoundPosInf));
  }
}

}  // namespace
}  // namespace assay
