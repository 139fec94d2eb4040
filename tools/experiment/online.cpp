// The honest-kernel experiment for op online_softmax: chunks of 1 to 64, both references of the maximum, exponentials
// that always err the same way on ramps of logits.
#include <algorithm>
#include <cmath>

#include "reference/core/math.hpp"
#include "reference/softmax/online.hpp"
#include "tools/experiment/attention.hpp"

namespace assay::experiment {

namespace {

constexpr Index kWidth = 4;  // of v
constexpr int kKinds = 12;
const char* kind_name(int kind) {
  constexpr const char* names[] = {"normal",     "large logits", "ascending by 1/4",  "ascending by 2^-6",
                                   "descending", "equal",        "3 distinct logits", "heavy tails",
                                   "constant V", "V > 0",        "a late high logit", "ascending, constant V"};
  return names[kind];
}

struct OnlineCase {
  Matrix<double> x, v;
};

double uniform(Random& r) { return static_cast<double>(r.bits() >> 11) * 0x1p-53; }
double normal(Random& r) {
  double s = -6;
  for (int i = 0; i < 12; ++i) s += uniform(r);
  return s;
}

OnlineCase draw(int kind, const Format& in, Random& random) {
  constexpr Index lengths[] = {1, 2, 5, 16, 33, 70, 150, 400};
  const Index n = lengths[random.below(8)];
  OnlineCase a{Matrix<double>(1, n), Matrix<double>(n, kWidth)};
  const double constant = 0.1 + uniform(random);
  for (Index j = 0; j < n; ++j) {
    const auto at = static_cast<double>(j);
    double x = 2 * normal(random);
    if (kind == 1) x *= 30;
    if (kind == 2 || kind == 11) x = at / 4;
    if (kind == 3) x = at / 64;
    if (kind == 4) x = -at / 4;
    if (kind == 5) x = constant;
    if (kind == 6) x = constant * static_cast<double>(random.below(3));
    if (kind == 7) x = normal(random) / (uniform(random) + 1e-2);
    if (kind == 10 && j == n - 1) x = 20;
    a.x(0, j) = round_to(in, x);
    for (Index c = 0; c < kWidth; ++c) {
      double v = normal(random);
      if (kind == 8 || kind == 11) v = constant;
      if (kind == 9) v = std::fabs(v);
      a.v(j, c) = round_to(in, v);
    }
  }
  return a;
}

/// The kernel: a chunk's maximum, its exponentials, its own sums, then the running ones.
Row kernel(const OnlineCase& a, const Contract& c, Index chunk, float slack, int form, bool backward, bool joined) {
  const bool fma = c.exponent == Exponent::fma;
  const auto exp = [&](float x, float m, bool weight) -> float {
    float arg = fma ? (x - m) * 1.44269504f : x - m;
    if (fma && weight)  // a rescale takes the difference
      arg = static_cast<float>(static_cast<double>(x) * 1.44269504f - static_cast<double>(m * 1.44269504f));
    if (arg == 0) return 1;
    const double e = form == 1 ? noise_of(arg) : form == 2 ? 1 : form == 3 ? math::sin(3 * arg) : form == 4 ? -1 : 0;
    return static_cast<float>((fma ? math::exp2(arg) : math::exp(arg)) * (1 + e * 0x1p-22));
  };
  const auto fused = [](float x, float y, float z) { return static_cast<float>(static_cast<double>(x) * y + z); };
  float m = -INFINITY, l = 0;
  Floats o(kWidth, 0.0f);
  for (Index t = 0; t < a.x.cols(); t += chunk) {
    const Index end = std::min(a.x.cols(), t + chunk);
    float top = m;
    for (Index j = t; j < end; ++j) top = std::max(top, static_cast<float>(a.x(0, j)));
    const float before = m;
    if (!(top - m <= slack)) m = top;
    const float alpha = before == -INFINITY ? 0 : exp(before, m, false);
    // The chunk's own sums, or straight into the running ones.
    float part = joined ? l * alpha : 0;
    Floats parts(kWidth, 0.0f);
    for (std::size_t x = 0; x < parts.size(); ++x) parts[x] = joined ? o[x] * alpha : 0;
    for (Index k = t; k < end; ++k) {
      const Index j = backward ? end - 1 - (k - t) : k;
      const float e = exp(static_cast<float>(a.x(0, j)), m, true), stored = static_cast<float>(round_to(*c.p, e));
      part += c.l == RowSum::rounded ? stored : e;
      for (std::size_t x = 0; x < parts.size(); ++x)
        parts[x] = fused(stored, static_cast<float>(a.v(j, static_cast<Index>(x))), parts[x]);
    }
    l = joined ? part : fused(l, alpha, part);
    for (std::size_t x = 0; x < parts.size(); ++x) o[x] = joined ? parts[x] : fused(o[x], alpha, parts[x]);
  }
  const double e = form == 2 ? 1 : form == 4 ? -1 : 0;
  Row r{"", nullptr, {}, {}};
  for (float x : o) r.kernel.push_back(x / l);
  r.kernel.push_back(m + (l == 1 ? 0.0f : static_cast<float>(math::log(l) * (1 + e * 0x1p-22))));
  return r;
}

}  // namespace

std::vector<Tally> run_online(int effort, std::uint64_t seed, double z) {
  std::vector<Tally> all;
  Random random(seed);
  for (const std::string contract : {"fp32", "bf16_out_fp32", "bf16 p=bf16", "fp16 p=fp16 out=fp32",
                                     "bf16 p=bf16 out=fp32 l=rounded", "fp32 exponent=fma"}) {
    const Contract c = parse_contract(contract);
    const ReadingScope scope({&c, false, z});
    for (int kind = 0; kind < kKinds; ++kind) {
      all.emplace_back();
      Tally& tally = all.back();
      tally.op = kind_name(kind);
      tally.contract = contract;
      for (int repeat = 0; repeat < effort; ++repeat) {
        const OnlineCase a = draw(kind, *c.in, random);
        Matrix<Bound> x(1, a.x.cols()), v(a.x.cols(), kWidth);
        for (Index j = 0; j < a.x.cols(); ++j) {
          x(0, j) = Bound(a.x(0, j));
          for (Index k = 0; k < kWidth; ++k) v(j, k) = Bound(a.v(j, k));
        }
        for (const Index chunk : {1, 3, 16, 64})
          for (const bool stale : {false, true}) {
            OnlineSoftmaxOptions opt;
            opt.chunk = static_cast<double>(chunk);
            if (stale) opt.reference = OnlineSoftmaxOptions::Reference::stale_max;
            const SoftmaxMean<Bound> y = online_softmax(x, v, opt);
            for (int form = 0; form < 5; ++form) {
              const bool backward = random.below(2) != 0, joined = random.below(2) != 0;
              const float slack = stale ? 8 * 0.693147181f : 0;
              const Floats got = kernel(a, c, chunk, slack, form, backward, joined).kernel;
              const std::string says = std::string(kind_name(kind)) + " n=" + std::to_string(a.x.cols()) +
                                       " chunk=" + std::to_string(chunk) + (stale ? " stale" : "") +
                                       " exp=" + std::to_string(form);
              Row o{"o", c.out, {}, Floats(got.begin(), got.end() - 1)}, lse{"lse", c.acc, {y.lse[0]}, {got.back()}};
              for (Index k = 0; k < kWidth; ++k) o.y.push_back(y.o(0, k));
              judge_row(o, c, Planted::none, z, &tally, says);
              judge_row(lse, c, Planted::none, z, &tally, says + " lse");
            }
          }
      }
    }
  }
  return all;
}

}  // namespace assay::experiment
