// The kernel's own text, run lane by lane on the CPU and judged by the definition's bound.
#include <gtest/gtest.h>

#include "gpu/tests/host/lanes.hpp"
// The kernel after the words of CUDA it is written in.
#include "gpu/attention/flash_forward_sm80.cu"
#include "reference/attention/core.hpp"
#include "reference/core/profile.hpp"
#include "reference/core/verdict.hpp"

namespace assay {

alignas(128) std::uint16_t shared_memory[ASSAY_FLASH_SHARED_BYTES(128) / 2];

namespace {

struct Shape4 {
  Index B, Sq, Sk, Hkv, g, d;
  bool causal;
  int window;
  Index dv = 0;  // 0: as d

  Index value_width() const { return dv == 0 ? d : dv; }
};

struct Call {
  Tensor<double> q, k, v, o, lse;
};

Tensor<double> numbers(const Shape& shape, std::uint32_t id, const Format& f) {
  return fill(Profile::normal, shape, 3, id, &f);
}

std::vector<std::uint16_t> codes(const Tensor<double>& x, const Format& f) {
  std::vector<std::uint16_t> all;
  for (Index i = 0; i < x.size(); ++i) all.push_back(static_cast<std::uint16_t>(encode(f, x.at_flat(i))));
  return all;
}

void launch(const assay_flash_forward& call, const Shape4& s, bool bf16) {
  const host::Position grid{static_cast<int>((s.Sq + ASSAY_FLASH_ROWS - 1) / ASSAY_FLASH_ROWS),
                            static_cast<int>(s.Hkv * s.g), static_cast<int>(s.B)};
  const auto kernel = s.d <= 64 ? bf16 ? attention_bf16_d64_sm80 : attention_fp16_d64_sm80
                      : bf16    ? attention_bf16_d128_sm80
                                : attention_fp16_d128_sm80;
  host::run_grid(grid, ASSAY_FLASH_THREADS, shared_memory, sizeof shared_memory, [&] { kernel(call); });
}

void run(Call& r, const Shape4& s, const Format& f) {
  const Index H = s.Hkv * s.g;
  const auto q = codes(r.q, f), k = codes(r.k, f), v = codes(r.v, f);
  const Index dv = s.value_width();
  std::vector<std::uint16_t> o(static_cast<std::size_t>(s.B * s.Sq * H * dv), 0xFFFF);
  std::vector<float> lse(static_cast<std::size_t>(s.B * H * s.Sq), NAN);
  const auto strides = [](Index tokens, Index heads, Index width) {
    return assay_flash_strides{tokens * heads * width, heads * width, width};
  };
  assay_flash_forward call{};
  call.q = q.data(), call.k = k.data(), call.v = v.data(), call.o = o.data(), call.lse = lse.data();
  call.q_stride = strides(s.Sq, H, s.d), call.k_stride = strides(s.Sk, s.Hkv, s.d);
  call.v_stride = strides(s.Sk, s.Hkv, dv), call.o_stride = strides(s.Sq, H, dv);
  call.lse_stride = {H * s.Sq, 1, s.Sq};
  call.sq = static_cast<std::int32_t>(s.Sq), call.sk = static_cast<std::int32_t>(s.Sk);
  call.heads = static_cast<std::int32_t>(H), call.group = static_cast<std::int32_t>(s.g);
  call.d = static_cast<std::int32_t>(s.d), call.dv = static_cast<std::int32_t>(dv);
  call.aligned = s.d % 8 == 0 && dv % 8 == 0;
  call.offset_by_sizes = 1;
  call.causal = s.causal;
  call.window = s.window;
  call.scale = 1 / std::sqrt(static_cast<float>(s.d));
  launch(call, s, f.name == "bf16");
  r.o = Tensor<double>(Shape{s.B, s.Sq, H, dv});
  r.lse = Tensor<double>(Shape{s.B, H, s.Sq});
  for (std::size_t i = 0; i < o.size(); ++i) r.o.data()[i] = decode(f, o[i]);
  for (std::size_t i = 0; i < lse.size(); ++i) r.lse.data()[i] = static_cast<double>(lse[i]);
}

Call inputs(const Shape4& s, const Format& f) {
  return {numbers({s.B, s.Sq, s.Hkv * s.g, s.d}, 0, f),
          numbers({s.B, s.Sk, s.Hkv, s.d}, 1, f),
          numbers({s.B, s.Sk, s.Hkv, s.value_width()}, 2, f),
          {},
          {}};
}

AttentionOutputs<Bound> defined(const Call& r, const Shape4& s) {
  const auto lifted = [](const Tensor<double>& x) {
    const Tensor<Bound> y(x.shape());
    for (Index i = 0; i < x.size(); ++i) y.data()[i] = x.at_flat(i);
    return y;
  };
  AttentionOptions opt;
  opt.causal = s.causal ? AttentionOptions::Causal::bottom_right : AttentionOptions::Causal::none;
  opt.window = s.window == 0 ? -1 : s.window;
  return attention(AttentionInputs<Bound>{lifted(r.q), lifted(r.k), lifted(r.v), {}, {}, {}}, opt);
}

void expect_accurate(const Shape4& s, const char* name) {
  const Format& f = format(name);
  Call r = inputs(s, f);
  run(r, s, f);
  const Contract contract =
      parse_contract(std::string("in=") + name + " acc=fp32 out=" + name + " p=" + name + " exponent=fma tile=64");
  const double z = z_of(kDefaultElements);
  const ReadingScope scope(Reading{&contract, false, z});
  const AttentionOutputs<Bound> y = defined(r, s);
  for (Index i = 0; i < r.o.size(); ++i) {
    const Verdict v = judge(y.o.at_flat(i), r.o.at_flat(i), f, Round::nearest_even, z);
    ASSERT_TRUE(v.accepted) << name << " o at " << i << ": " << r.o.at_flat(i) << " instead of " << y.o.at_flat(i).v
                            << ", off by " << v.distance << ", allowed " << v.allowed;
  }
  for (Index i = 0; i < r.lse.size(); ++i)
    ASSERT_TRUE(judge(y.lse.at_flat(i), r.lse.at_flat(i), format("fp32"), Round::nearest_even, z).accepted)
        << name << " lse at " << i << ": " << r.lse.at_flat(i) << " instead of " << y.lse.at_flat(i).v;
}

const Shape4 shapes[] = {
    {1, 1, 1, 1, 1, 64, false, 0},    {1, 64, 64, 1, 1, 64, false, 0},   {1, 5, 150, 1, 2, 64, true, 0},
    {2, 70, 70, 1, 1, 64, true, 0},   {1, 100, 40, 2, 2, 64, true, 0},   {1, 66, 200, 1, 1, 128, true, 70},
    {1, 65, 0, 1, 1, 64, false, 0},   {1, 80, 130, 1, 1, 128, false, 3}, {1, 1, 129, 1, 4, 128, true, 1},
    {1, 9, 12, 1, 2, 17, true, 0, 5}, {1, 3, 70, 1, 1, 24, false, 0, 8},
};

TEST(FlashForwardSm80, WithinTheBoundOfAttention) {
  for (const Shape4& s : shapes) {
    expect_accurate(s, "fp16");
    expect_accurate(s, "bf16");
  }
}

TEST(FlashForwardSm80, WhatAQueryDoesNotSeeHasNoInfluence) {
  const Format& f = format("fp16");
  const Shape4 s{1, 70, 70, 1, 1, 64, true, 0};
  Call clean = inputs(s, f), poisoned = inputs(s, f);
  poisoned.v = clean.v.clone();
  poisoned.k = clean.k.clone();
  for (Index c = 0; c < s.d; ++c) poisoned.k.data()[50 * s.d + c] = NAN;
  poisoned.v.data()[50 * s.d + 7] = NAN;
  poisoned.v.data()[50 * s.d + 8] = INFINITY;
  run(clean, s, f);
  run(poisoned, s, f);
  for (Index i = 0; i < 50 * s.d; ++i) ASSERT_EQ(clean.o.at_flat(i), poisoned.o.at_flat(i)) << i;
  for (Index i = 50; i < s.Sq; ++i) {
    EXPECT_TRUE(std::isnan(poisoned.o.at_flat(i * s.d)));
    EXPECT_TRUE(std::isnan(poisoned.lse.at_flat(i)));
  }
}

TEST(FlashForwardSm80, AVisibleNanOrInfinityOfAValueIsInItsColumn) {
  const Format& f = format("bf16");
  const Shape4 s{1, 70, 70, 1, 1, 64, true, 0};
  Call clean = inputs(s, f), special = inputs(s, f);
  special.v = clean.v.clone();
  special.v.data()[50 * s.d + 7] = NAN;
  special.v.data()[50 * s.d + 8] = -INFINITY;
  run(clean, s, f);
  run(special, s, f);
  for (Index i = 0; i < s.Sq; ++i)
    for (Index c = 0; c < s.d; ++c) {
      const double x = special.o.at_flat(i * s.d + c);
      if (i >= 50 && c == 7)
        EXPECT_TRUE(std::isnan(x)) << i;
      else if (i >= 50 && c == 8)
        EXPECT_EQ(-INFINITY, x) << i;
      else
        ASSERT_EQ(clean.o.at_flat(i * s.d + c), x) << i << " " << c;
    }
}

}  // namespace
}  // namespace assay
