// The formats against the host functions of the CUDA headers, bit for bit, on all fp16, all bf16, and every fp32 whose
// low 12 bits are at a boundary.
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

struct Fp8 {
  const Format* format;
  __nv_fp8_interpretation_t kind;
};
struct Fp6 {
  const Format* format;
  __nv_fp6_interpretation_t kind;
};
struct Saturation {
  Overflow policy;
  __nv_saturation_t vendor;
};
struct Direction {
  Round mode;
  cudaRoundMode vendor;
};

const Fp8 kFp8[] = {{&e4m3, __NV_E4M3}, {&e5m2, __NV_E5M2}};
const Fp6 kFp6[] = {{&e3m2, __NV_E3M2}, {&e2m3, __NV_E2M3}};
const Saturation kSaturations[] = {{Overflow::saturate, __NV_SATFINITE}, {Overflow::infinity_or_nan, __NV_NOSAT}};
const Direction kScaleModes[] = {{Round::toward_zero, cudaRoundZero}, {Round::up, cudaRoundPosInf}};

/// Counts comparisons; reports the first few that differ.
class Comparison {
 public:
  explicit Comparison(const char* what) : what_(what) {}
  ~Comparison() {
    EXPECT_EQ(wrong_, 0) << what_;
    EXPECT_GT(count_, 0) << what_;
  }
  long count() const { return count_; }
  void operator()(const char* format, double x, std::uint64_t ours, std::uint64_t vendor) {
    ++count_;
    if (ours != vendor && ++wrong_ <= 5)
      ADD_FAILURE() << what_ << ' ' << format << std::hexfloat << ' ' << x << std::hex << ": ours " << ours
                    << ", vendor's " << vendor;
  }

 private:
  const char* what_;
  long count_ = 0, wrong_ = 0;
};

/// All conversions to 8, 6 and 4 bits of a source that the callables convert.
template <class ToFp8, class ToFp6, class ToFp4, class ToE8m0>
void compare_all(Comparison& compare, double x, ToFp8&& to_fp8, ToFp6&& to_fp6, ToFp4&& to_fp4, ToE8m0&& to_e8m0) {
  for (const Saturation& s : kSaturations) {
    for (const Fp8& f : kFp8)
      compare(f.format->name.data(), x, encode(*f.format, x, Round::nearest_even, s.policy), to_fp8(s.vendor, f.kind));
    for (const Direction& d : kScaleModes)
      compare("e8m0", x, encode(e8m0, x, d.mode, s.policy), to_e8m0(s.vendor, d.vendor));
  }
  for (const Fp6& f : kFp6)
    compare(f.format->name.data(), x, encode(*f.format, x, Round::nearest_even), to_fp6(f.kind));
  compare("e2m1", x, encode(e2m1, x, Round::nearest_even), to_fp4());
}

TEST(CudaFormats, FromFloat) {
  Comparison compare("float to");
  oracle::float_inputs([&](U32 bits) {
    const float x = std::bit_cast<float>(bits);
    compare_all(
        compare, static_cast<double>(x), [&](auto s, auto k) { return __nv_cvt_float_to_fp8(x, s, k); },
        [&](auto k) { return __nv_cvt_float_to_fp6(x, k, cudaRoundNearest); },
        [&] { return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest); },
        [&](auto s, auto d) { return __nv_cvt_float_to_e8m0(x, s, d); });
  });
  EXPECT_EQ(compare.count(), 6422528 * 11);  // fp8 2 x 2, e8m0 2 x 2, fp6 2, fp4 1
}

// Doubles just beside everything at which the small formats change, which no float can hold.
TEST(CudaFormats, FromDouble) {
  Comparison compare("double to");
  for (const char* name : {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "e8m0"})
    oracle::all_inputs(oracle::row(name), [&](double x) {
      if (std::isnan(x)) return;  // below
      compare_all(
          compare, x, [&](auto s, auto k) { return __nv_cvt_double_to_fp8(x, s, k); },
          [&](auto k) { return __nv_cvt_double_to_fp6(x, k, cudaRoundNearest); },
          [&] { return __nv_cvt_double_to_fp4(x, __NV_E2M1, cudaRoundNearest); },
          [&](auto s, auto d) { return __nv_cvt_double_to_e8m0(x, s, d); });
    });
}

// From double, and only from there, the vendor keeps the sign of a NaN and drops its last bit in e5m2. assay has one
// canonical NaN, that of the other sources.
TEST(CudaFormats, NanFromDouble) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Saturation& s : kSaturations) {
    EXPECT_EQ(__nv_cvt_double_to_fp8(nan, s.vendor, __NV_E4M3), 0x7F);
    EXPECT_EQ(__nv_cvt_double_to_fp8(-nan, s.vendor, __NV_E4M3), 0xFF);
    EXPECT_EQ(__nv_cvt_double_to_fp8(nan, s.vendor, __NV_E5M2), 0x7E);
    EXPECT_EQ(__nv_cvt_double_to_fp8(-nan, s.vendor, __NV_E5M2), 0xFE);
    for (const Direction& d : kScaleModes) EXPECT_EQ(__nv_cvt_double_to_e8m0(nan, s.vendor, d.vendor), 0xFF);
  }
  for (const Fp6& f : kFp6) EXPECT_EQ(__nv_cvt_double_to_fp6(nan, f.kind, cudaRoundNearest), f.format->nan_code);
  EXPECT_EQ(__nv_cvt_double_to_fp4(nan, __NV_E2M1, cudaRoundNearest), 7);
}

TEST(CudaFormats, FromHalfAndBf16) {
  Comparison half("half to"), brain("bf16 to");
  for (U32 h = 0; h < 65536; ++h) {
    __half_raw x;
    x.x = static_cast<unsigned short>(h);
    __nv_bfloat16_raw y;
    y.x = static_cast<unsigned short>(h);
    for (const Saturation& s : kSaturations) {
      for (const Fp8& f : kFp8) {
        half(f.format->name.data(), decode(fp16, h), encode(*f.format, decode(fp16, h), Round::nearest_even, s.policy),
             __nv_cvt_halfraw_to_fp8(x, s.vendor, f.kind));
        brain(f.format->name.data(), decode(bf16, h), encode(*f.format, decode(bf16, h), Round::nearest_even, s.policy),
              __nv_cvt_bfloat16raw_to_fp8(y, s.vendor, f.kind));
      }
      for (const Direction& d : kScaleModes)
        brain("e8m0", decode(bf16, h), encode(e8m0, decode(bf16, h), d.mode, s.policy),
              __nv_cvt_bfloat16raw_to_e8m0(y, s.vendor, d.vendor));
    }
    for (const Fp6& f : kFp6) {
      half(f.format->name.data(), decode(fp16, h), encode(*f.format, decode(fp16, h), Round::nearest_even),
           __nv_cvt_halfraw_to_fp6(x, f.kind, cudaRoundNearest));
      brain(f.format->name.data(), decode(bf16, h), encode(*f.format, decode(bf16, h), Round::nearest_even),
            __nv_cvt_bfloat16raw_to_fp6(y, f.kind, cudaRoundNearest));
    }
    half("e2m1", decode(fp16, h), encode(e2m1, decode(fp16, h), Round::nearest_even),
         __nv_cvt_halfraw_to_fp4(x, __NV_E2M1, cudaRoundNearest));
    brain("e2m1", decode(bf16, h), encode(e2m1, decode(bf16, h), Round::nearest_even),
          __nv_cvt_bfloat16raw_to_fp4(y, __NV_E2M1, cudaRoundNearest));
  }
}

/// A value of a raw half, NaNs made one.
std::uint64_t canonical(const Format& f, U32 code) { return std::isnan(decode(f, code)) ? f.nan_code : code; }

TEST(CudaFormats, BackToHalfAndBf16) {
  Comparison compare("decode");
  for (U32 c = 0; c < 256; ++c) {
    const auto code = static_cast<unsigned char>(c);
    for (const Fp8& f : kFp8)
      compare(f.format->name.data(), c, encode(fp16, decode(*f.format, c)),
              canonical(fp16, __nv_cvt_fp8_to_halfraw(code, f.kind).x));
    if (c < 64)
      for (const Fp6& f : kFp6)
        compare(f.format->name.data(), c, encode(fp16, decode(*f.format, c)), __nv_cvt_fp6_to_halfraw(code, f.kind).x);
    if (c < 16) compare("e2m1", c, encode(fp16, decode(e2m1, c)), __nv_cvt_fp4_to_halfraw(code, __NV_E2M1).x);
    compare("e8m0", c, encode(bf16, decode(e8m0, c)), canonical(bf16, __nv_cvt_e8m0_to_bf16raw(code).x));
  }
}

// The 16-bit formats in all four IEEE directions.
TEST(CudaFormats, FloatToHalfAndBf16) {
  Comparison half("float to"), brain("float to");
  oracle::float_inputs([&](U32 bits) {
    const float x = std::bit_cast<float>(bits);
    const auto wide = static_cast<double>(x);
    const auto check = [&](Round mode, __half h, __nv_bfloat16 b) {
      half("fp16", wide, encode(fp16, wide, mode), canonical(fp16, __half_raw(h).x));
      brain("bf16", wide, encode(bf16, wide, mode), canonical(bf16, __nv_bfloat16_raw(b).x));
    };
    check(Round::nearest_even, __float2half_rn(x), __float2bfloat16_rn(x));
    check(Round::toward_zero, __float2half_rz(x), __float2bfloat16_rz(x));
    check(Round::up, __float2half_ru(x), __float2bfloat16_ru(x));
    check(Round::down, __float2half_rd(x), __float2bfloat16_rd(x));
  });
}

TEST(CudaFormats, DoubleToHalfAndBf16) {
  Comparison half("double to"), brain("double to");
  for (const char* name : {"fp16", "bf16"})
    oracle::all_inputs(oracle::row(name), [&](double x) {
      half("fp16", x, encode(fp16, x, Round::nearest_even), canonical(fp16, __half_raw(__double2half(x)).x));
      brain("bf16", x, encode(bf16, x, Round::nearest_even),
            canonical(bf16, __nv_bfloat16_raw(__double2bfloat16(x)).x));
    });
}

}  // namespace
}  // namespace assay
