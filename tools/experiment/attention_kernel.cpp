#include "tools/experiment/attention_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "reference/core/math.hpp"

namespace assay::experiment {

namespace {

using Bug = AttentionBug;
constexpr float kNone = -INFINITY;
const Format kThirteenBits{"13 bit", 22, 1, 8, 12, 127, Specials::ieee, Overflow::infinity_or_nan, 0, 13};

float to(const Format& f, double x, Round r = Round::nearest_even) { return static_cast<float>(round_to(f, x, r)); }
float fused(float a, float b, float c) { return static_cast<float>(static_cast<double>(a) * b + c); }

/// How a kernel adds.
struct Adder {
  const Contract& c;
  Schedule order;
  bool narrow = false;  // the bug: in bf16
  /// start + sum a_i b_i
  float dot(float start, const float* a, const float* b, std::size_t n) const {
    if (narrow) {
      double t = start;
      for (std::size_t i = 0; i < n; ++i) t = round_to(formats::bf16, t + static_cast<double>(a[i]) * b[i]);
      return static_cast<float>(t);
    }
    if (c.kind == Accumulate::truncate) {
      const Accumulator acc{true, nullptr};
      for (std::size_t i = 0; i < n; ++i) start = acc.fma(a[i], b[i], start);
      return start;
    }
    if (c.kind == Accumulate::mma) {
      const auto step = static_cast<std::size_t>(c.mma_k0);
      for (std::size_t i = 0; i < n; i += step) start = mma_step(start, a + i, b + i, std::min(step, n - i), c.mma_f);
      return start;
    }
    if (order == Schedule::forward) {
      for (std::size_t i = 0; i < n; ++i) start = fused(a[i], b[i], start);
      return start;
    }
    if (order == Schedule::pairwise) {
      const std::function<float(std::size_t, std::size_t)> tree = [&](std::size_t lo, std::size_t hi) -> float {
        if (hi - lo < 2) return hi == lo ? 0.0f : a[lo] * b[lo];
        const std::size_t mid = (lo + hi) / 2;
        return tree(lo, mid) + tree(mid, hi);
      };
      return start + tree(0, n);
    }
    float lane[8] = {};
    for (std::size_t i = 0; i < n; ++i) lane[i % 8] = fused(a[i], b[i], lane[i % 8]);
    return start + (((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7])));
  }
  /// start + sum a_i: on the scalar units, which round to nearest
  float sum(float start, const float* a, std::size_t n, bool bf16) const {
    static const Floats ones(8192, 1.0f);
    static const Contract plain = parse_contract("fp32");
    return Adder{plain, order, bf16}.dot(start, a, ones.data(), n);
  }
};

/// A function value with the error of a form, of 2 ulp at most.
float erring(double exact, double argument, int form) {
  const double e = form == 1   ? noise_of(argument)
                   : form == 2 ? 1
                   : form == 3 ? math::sin(3 * argument)
                   : form == 4 ? -1
                               : 0;
  return static_cast<float>(exact * (1 + e * 0x1p-22));
}

struct Exponential {
  int form;
  bool fma, bug_16bit;
  float log2e;
  const Format& half;
  float of(double argument) const {  // e^argument, the argument rounded already
    if (argument == 0) return 1;
    const float e = erring(math::exp(argument), argument, form);
    return bug_16bit ? to(half, e) : e;
  }
  float operator()(float x, float m) const {
    if (x == kNone) return 0;
    if (!fma && log2e == 1.44269504f) return of(x - m);
    if (!fma) return of(static_cast<double>((x - m) * log2e) * 0.69314718055994531);
    return of(static_cast<double>(fused(x, log2e, -(m * log2e))) * 0.69314718055994531);
  }
};

/// The scores of one query, masked.
Floats scores(const AttentionCase& a, const Contract& c, const Adder& add, Bug bug, const Format& half, Index h,
              Index i, Index kv) {
  double wide = a.scale;
  if (bug == Bug::scale_1e3) wide *= 1.001;
  if (bug == Bug::scale_1e4) wide *= 1.0001;
  if (bug == Bug::padded_scale) {
    Index padded = 8;
    while (padded < a.d) padded *= 2;
    wide *= math::sqrt(static_cast<double>(a.d) / static_cast<double>(padded));
  }
  const auto scale = static_cast<float>(wide), cap = static_cast<float>(a.cap);
  const auto d = static_cast<std::size_t>(a.d - (bug == Bug::last_coordinate));
  Floats q, k(static_cast<std::size_t>(a.d)), s;
  for (Index x = 0; x < a.d; ++x) {
    const double v = a.q(h * a.queries + i, x);
    q.push_back(bug == Bug::scaled_q_16bit ? to(half, static_cast<float>(v) * scale) : static_cast<float>(v));
  }
  const auto bend = [&](float x) {
    const float z = x / cap;
    double t = math::tanh(z);
    if (bug == Bug::tanh_approx) t *= 1 + noise_of(z) * 0x1p-11;
    return cap * static_cast<float>(t);
  };
  for (Index j = 0; j < a.keys; ++j) {
    for (Index x = 0; x < a.d; ++x) k[static_cast<std::size_t>(x)] = static_cast<float>(a.k(kv * a.keys + j, x));
    float x = add.dot(0, q.data(), k.data(), d);
    if (a.cap > 0 && bug == Bug::cap_before_scale) x = bend(x);
    if (bug != Bug::scaled_q_16bit) x *= scale;
    if (bug == Bug::scores_16bit) x = to(half, x);
    const Index t = i + a.keys - a.queries;
    bool seen = sees(a, i, j);
    if (bug == Bug::top_left && a.causal) seen = j <= i && !(a.window > 0 && j <= i - a.window);
    if (bug == Bug::window && a.window > 0) seen = seen || j == t - a.window;
    if (bug == Bug::last_key && j == a.keys - 1) seen = false;
    const float masked = bug == Bug::finite_mask ? -1e4f : kNone;
    const bool leaks = bug == Bug::cap_after_mask && a.cap > 0;
    if (leaks && !seen) x = masked;
    if (a.cap > 0 && bug != Bug::cap_before_scale) x = bend(x);
    if (!seen && !leaks) x = masked;
    s.push_back(seen || leaks ? to(*c.s, x) : x);
  }
  return s;
}

float rounded_output(const Contract& c, Bug bug, float r) {
  if (bug == Bug::out_truncated) return to(*c.out, r, Round::toward_zero);
  if (bug == Bug::out_twice) return to(*c.out, to(c.out->p() == 11 ? kThirteenBits : formats::fp16, r));
  return to(*c.out, r);
}

/// A running softmax over part of the keys.
struct Part {
  float m = kNone, l = 0;
  Floats n;  // numerators
};

}  // namespace

std::vector<AttentionStyle> attention_styles(const Contract& c) {
  if (c.p_scale == PScale::normalised)
    return {{"unfused", 4096, 1, Schedule::forward, 0, false, true},
            {"unfused, exp 2 ulp", 4096, 1, Schedule::lanes8, 1, false, true}};
  if (c.exponent == Exponent::fma) return {{"tile 16, fma, random exp", 16, 1, Schedule::forward, 1, true, false}};
  if (c.tile == 1)
    return {{"online per key", 1, 1, Schedule::forward, 0, false, false},
            {"online per key, exp +2 ulp", 1, 1, Schedule::forward, 2, false, false}};
  return {{"one tile", 4096, 1, Schedule::forward, 0, false, false},
          {"tile 16", 16, 1, Schedule::forward, 0, false, false},
          {"tile 32, 2 splits, pairwise", 32, 2, Schedule::pairwise, 0, false, false},
          {"tile 64, 4 splits, lanes", 64, 4, Schedule::lanes8, 0, false, false},
          {"tile 16, exp +2 ulp", 16, 1, Schedule::forward, 2, false, false},
          {"tile 16, 3 splits, smooth exp", 16, 3, Schedule::forward, 3, false, false}};
}

const char* name(AttentionBug b) {
  constexpr const char* names[] = {"none",
                                   "P silently in e4m3",
                                   "o accumulated in bf16",
                                   "softmax scale +0.1 %",
                                   "last key dropped",
                                   "window off by one",
                                   "base-2 LSE merged as e",
                                   "head h reads keys of h mod Hkv",
                                   "softcap with tanh.approx (2^-11)",
                                   "causal top-left",
                                   "softcap after mask",
                                   "o not rescaled when the maximum grows",
                                   "-1e4 for -inf",
                                   "scores stored in 16 bits",
                                   "sink added once per split",
                                   "scale of padded head width",
                                   "split partials in 16 bits",
                                   "exp in 16 bits",
                                   "scale folded into q, rounded to 16 bits",
                                   "row sum in bf16",
                                   "log2(e) as 1.4427",
                                   "output truncated",
                                   "output rounded twice",
                                   "last tile: V row shifted by one",
                                   "row sum of rounded P (declared: unrounded)",
                                   "empty split merged with lse = 0",
                                   "P truncated",
                                   "softmax scale +0.01 %",
                                   "softcap before scale",
                                   "last coordinate of q k ignored",
                                   "V through e4m3"};
  return names[static_cast<int>(b)];
}

AttentionResult attention_kernel(const AttentionCase& a, const Contract& c, const AttentionStyle& s, AttentionBug bug) {
  AttentionResult result;
  const Format& half = c.in->p() == 24 ? formats::bf16 : *c.in;
  const Format& stored = bug == Bug::p_fp8 ? formats::e4m3 : *c.p;
  const Adder add{c, s.order, false}, add_o{c, s.order, bug == Bug::acc_bf16};
  const Exponential exponential{s.exp, s.fma, bug == Bug::exp_16bit, bug == Bug::log2e_short ? 1.4427f : 1.44269504f,
                                half};
  const Exponential merging{s.exp, false, false, 1.44269504f, half};
  const bool sum_rounded = (c.l == RowSum::rounded) != (bug == Bug::sum_of_rounded);
  const Index parts = a.keys < c.split_min ? 1 : std::min(s.splits, a.keys);
  const auto d = static_cast<std::size_t>(a.d);
  for (Index h = 0; h < a.heads; ++h) {
    const Index kv = bug == Bug::gqa_modulo ? h % a.kv_heads : h / (a.heads / a.kv_heads);
    const auto value = [&](Index j, std::size_t x) {
      const double v = a.v(kv * a.keys + j, static_cast<Index>(x));
      return bug == Bug::v_fp8 ? to(formats::e4m3, v) : static_cast<float>(v);
    };
    for (Index i = 0; i < a.queries; ++i) {
      const Floats score = scores(a, c, add, bug, half, h, i, kv);
      std::vector<Part> part(static_cast<std::size_t>(parts));
      for (Index p = 0; p < parts; ++p) {
        const Index first = a.keys * p / parts, last = a.keys * (p + 1) / parts;
        Part& y = part[static_cast<std::size_t>(p)];
        y.n.assign(d, 0);
        if (a.has_sink && (p == parts - 1 || bug == Bug::sink_per_split)) {
          y.m = static_cast<float>(a.sink);
          y.l = 1;
        }
        const Index tile = s.unfused ? last - first : s.tile;
        for (Index t = first; t < last; t += tile) {
          const Index end = std::min(last, t + tile);
          const auto n = static_cast<std::size_t>(end - t);
          float top = y.m;
          for (Index j = t; j < end; ++j) top = std::max(top, score[static_cast<std::size_t>(j)]);
          if (top == kNone) continue;
          const float alpha = y.m == kNone ? 0 : exponential(y.m, top);
          Floats e, p_of, column(n);
          for (Index j = t; j < end; ++j) {
            e.push_back(exponential(score[static_cast<std::size_t>(j)], top));
            p_of.push_back(to(stored, e.back(), bug == Bug::p_truncated ? Round::toward_zero : Round::nearest_even));
          }
          y.l = add.sum(y.l * alpha, sum_rounded ? p_of.data() : e.data(), n, bug == Bug::sum_bf16);
          y.m = top;
          if (s.unfused)
            for (std::size_t k = 0; k < n; ++k) p_of[k] = to(stored, e[k] / y.l);
          for (std::size_t x = 0; x < d; ++x) {
            for (std::size_t k = 0; k < n; ++k) {
              Index row = t + static_cast<Index>(k);
              if (bug == Bug::v_shifted && end == last && p == parts - 1 && row + 1 < a.keys && n > 1 && k == n - 2)
                ++row;
              column[k] = value(row, x);
            }
            const float base = bug == Bug::no_rescale ? y.n[x] : y.n[x] * alpha;
            y.n[x] = add_o.dot(base, p_of.data(), column.data(), n);
          }
        }
      }
      // With a sink the sum holds it: the LSE of the keys alone is not what this kernel returns.
      Floats lse(part.size(), kNone);
      float highest = kNone;
      for (std::size_t p = 0; p < part.size(); ++p) {
        const bool empty = part[p].l == 0;
        if (!empty) lse[p] = part[p].m + (part[p].l == 1 ? 0.0f : erring(math::log(part[p].l), part[p].l, s.exp));
        if (empty && bug == Bug::empty_split) lse[p] = 0;
        if (bug == Bug::lse_base2 && !empty) lse[p] *= 1.44269504f;
        highest = std::max(highest, lse[p]);
      }
      float whole = 0;
      Floats share(part.size());
      for (std::size_t p = 0; p < part.size(); ++p) {
        share[p] = lse[p] == kNone ? 0 : merging(lse[p], highest);
        whole += share[p];
      }
      for (std::size_t x = 0; x < d; ++x) {
        float r = 0;
        if (parts == 1) {
          r = part[0].l == 0 ? 0 : s.unfused ? part[0].n[x] : part[0].n[x] / part[0].l;
        } else if (highest != kNone) {
          for (std::size_t p = 0; p < part.size(); ++p) {
            float o = part[p].l == 0 ? 0 : part[p].n[x] / part[p].l;
            o = to(bug == Bug::partials_16bit ? half : *c.partial, o);
            r = fused(share[p], o, r);
          }
          r /= whole;
        }
        result.o.push_back(rounded_output(c, bug, r));
      }
      if (!a.has_sink)
        result.lse.push_back(parts == 1 || highest == kNone
                                 ? (parts == 1 ? lse[0] : kNone)
                                 : highest + (whole == 1 ? 0.0f : erring(math::log(whole), whole, s.exp)));
    }
  }
  return result;
}

}  // namespace assay::experiment
