#include "tools/experiment/kernels.hpp"

#include <algorithm>
#include <cmath>

#include "reference/core/math.hpp"

namespace assay::experiment {

namespace {

constexpr double kUlp = 0x1p-23;

/// A correctly rounded function value with the error of a form: `size` ulps at most, before the last rounding.
float erring(double exact, double argument, int form, double size) {
  double e = 0;
  if (form == 1) e = noise_of(argument);
  if (form == 2) e = 1;
  if (form == 3) e = math::sin(3 * argument);
  if (form == 4) e = -1;
  return static_cast<float>(exact * (1 + e * size * kUlp));
}

float exp_of(float x, const Style& s) {
  if (x == 0) return 1;
  return erring(math::exp(x), x, s.exp, 2);
}
float log_of(float x, const Style& s) {
  if (x == 1) return 0;
  return erring(math::log(x), x, s.log, 2);
}
float rsqrt_of(float x, const Style& s, Planted bug) {
  if (bug == Planted::rsqrt_2_12)
    return static_cast<float>(1 / std::sqrt(static_cast<double>(x)) * (1 + 0x1p-12 * noise_of(x)));
  if (s.rsqrt == 0) return 1 / std::sqrt(x);
  return erring(1 / math::sqrt(x), x, s.rsqrt, 1.5);
}

float mean_of(float total, std::size_t n, const Style& s) {
  const float count = static_cast<float>(n);
  return s.reciprocal ? total * (1 / count) : total / count;
}

/// Sums, with the errors planted in sums.
float total(const Floats& x, const Style& s, const Accumulator& acc, Random& random, Planted bug) {
  if (bug == Planted::acc_bf16) {
    double t = 0;
    for (float v : x) t = round_to(formats::bf16, t + v);
    return static_cast<float>(t);
  }
  if (bug == Planted::last_dropped && !x.empty()) return sum(Floats(x.begin(), x.end() - 1), s.schedule, acc, random);
  return sum(x, s.schedule, acc, random);
}

float total_squares(const Floats& x, const Style& s, const Accumulator& acc, Random& random, Planted bug) {
  if (bug == Planted::none && s.fused) return dot(x, x, s.schedule, true, acc, random);
  Floats q;
  for (float v : x)
    q.push_back(bug == Planted::squares_16bit ? static_cast<float>(round_to(formats::bf16, static_cast<double>(v) * v))
                                              : v * v);
  return total(q, s, acc, random, bug);
}

struct Moments {
  float n = 0, mean = 0, m2 = 0;
  void add(float x) {
    n += 1;
    const float d = x - mean;
    mean += d / n;
    m2 += d * (x - mean);
  }
  void join(const Moments& o) {
    if (o.n == 0) return;
    if (n == 0) {
      *this = o;
      return;
    }
    const float all = n + o.n, d = o.mean - mean;
    mean += d * (o.n / all);
    m2 += o.m2 + d * d * (n * o.n / all);
    n = all;
  }
};

}  // namespace

Style draw_style(Schedule s, Random& random) {
  Style y;
  y.schedule = s;
  y.exp = static_cast<int>(random.below(5));
  y.log = static_cast<int>(random.below(5));
  y.rsqrt = static_cast<int>(random.below(3));
  y.reciprocal = random.below(2) != 0;
  y.fold = random.below(2) != 0;
  y.fused = random.below(2) != 0;
  // Running maxima and Welford's recurrence are schedules of their own: drawn with one that stands for "oblivious".
  if (s == Schedule::tiles64) {
    constexpr int tiles[] = {0, 16, 32, 64, 128};
    y.online = tiles[random.below(5)];
    y.variance = static_cast<int>(random.below(3));
  }
  return y;
}

const char* name(Planted p) {
  constexpr const char* names[] = {"none",
                                   "sum accumulated in bf16",
                                   "last term dropped",
                                   "eps outside the root",
                                   "rsqrt with error 2^-12",
                                   "squares rounded to 16 bit",
                                   "one-pass variance",
                                   "exponentials rounded to fp16",
                                   "logits scaled by 1.001",
                                   "output truncated",
                                   "output rounded twice"};
  return names[static_cast<int>(p)];
}

SoftmaxRow softmax(const Floats& given, const Style& style, const Accumulator& acc, Random& random, Planted bug) {
  Floats x = given;
  if (bug == Planted::scale_1e3)
    for (float& v : x) v *= 1.001f;
  const std::size_t n = x.size();
  SoftmaxRow r;
  r.p.resize(n);
  r.log_p.resize(n);
  float m = -INFINITY, l = 0;
  Floats e(n);
  if (style.online == 0) {
    for (float v : x) m = std::max(m, v);
  } else {
    for (std::size_t t = 0; t < n; t += static_cast<std::size_t>(style.online)) {
      const std::size_t end = std::min(n, t + static_cast<std::size_t>(style.online));
      float top = m;
      for (std::size_t i = t; i < end; ++i) top = std::max(top, x[i]);
      if (top == -INFINITY) continue;
      l *= m == -INFINITY ? 0 : exp_of(m - top, style);
      m = top;
      for (std::size_t i = t; i < end; ++i)
        if (x[i] != -INFINITY) l = acc.add(l, exp_of(x[i] - m, style));
    }
  }
  if (m == -INFINITY) {
    std::fill(r.log_p.begin(), r.log_p.end(), -INFINITY);
    r.lse = -INFINITY;
    return r;
  }
  for (std::size_t i = 0; i < n; ++i) {
    e[i] = x[i] == -INFINITY ? 0 : exp_of(x[i] - m, style);
    if (bug == Planted::exp_16bit) e[i] = static_cast<float>(round_to(formats::fp16, e[i]));
  }
  if (style.online == 0) l = total(e, style, acc, random, bug);
  const float inverse = 1 / l, ln = log_of(l, style);
  for (std::size_t i = 0; i < n; ++i) {
    r.p[i] = style.reciprocal ? e[i] * inverse : e[i] / l;
    r.log_p[i] = (x[i] - m) - ln;
  }
  r.lse = m + ln;
  return r;
}

Floats rms_norm(const Floats& x, const Floats& w, float eps, const Style& style, const Accumulator& acc, Random& random,
                const Format* cast, Planted bug) {
  const float ms = mean_of(total_squares(x, style, acc, random, bug), x.size(), style);
  const float r = bug == Planted::eps_outside ? 1 / (std::sqrt(ms) + eps) : rsqrt_of(ms + eps, style, bug);
  Floats y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (cast) {
      y.push_back(static_cast<float>(round_to(*cast, x[i] * r)) * w[i]);
      continue;
    }
    y.push_back(style.fold ? x[i] * (r * w[i]) : (x[i] * r) * w[i]);
  }
  return y;
}

Floats layer_norm(const Floats& x, const Floats& w, const Floats& b, float eps, const Style& style,
                  const Accumulator& acc, Random& random, Planted bug) {
  const std::size_t n = x.size();
  float mean = 0, variance = 0;
  if (style.variance == 0 || bug != Planted::none) {
    mean = mean_of(total(x, style, acc, random, bug == Planted::squares_16bit ? Planted::none : bug), n, style);
    if (bug == Planted::one_pass) {
      variance = std::max(0.0f, mean_of(total_squares(x, style, acc, random, Planted::none), n, style) - mean * mean);
    } else {
      Floats z;
      for (float v : x) z.push_back(v - mean);
      variance = mean_of(total_squares(z, style, acc, random, bug), n, style);
    }
  } else {
    Moments lanes[8];
    const std::size_t count = style.variance == 1 ? 1 : 8;
    for (std::size_t i = 0; i < n; ++i) lanes[i % count].add(x[i]);
    for (std::size_t i = 1; i < count; ++i) lanes[0].join(lanes[i]);
    mean = lanes[0].mean;
    variance = mean_of(lanes[0].m2, n, style);
  }
  const float r = bug == Planted::eps_outside ? 1 / (std::sqrt(variance) + eps) : rsqrt_of(variance + eps, style, bug);
  Floats y;
  for (std::size_t i = 0; i < n; ++i) {
    const float z = (x[i] - mean) * r;
    y.push_back(style.fused ? std::fma(z, w[i], b[i]) : z * w[i] + b[i]);
  }
  return y;
}

}  // namespace assay::experiment
