#include "tools/experiment/attention_case.hpp"

#include <algorithm>
#include <cmath>

#include "reference/core/math.hpp"
#include "reference/core/readings/bound_model.hpp"

namespace assay::experiment {

namespace {

double uniform(Random& r) { return static_cast<double>(r.bits() >> 11) * 0x1p-53; }
double normal(Random& r) {
  const double u = 1 - uniform(r);
  return math::sqrt(-2 * math::log(u)) * math::cos(6.283185307179586 * uniform(r));
}

template <class F>
void each(Matrix<double>& m, F f) {
  for (Index i = 0; i < m.rows(); ++i)
    for (Index j = 0; j < m.cols(); ++j) f(m(i, j), i, j);
}

void allocate(AttentionCase& a) {
  a.q = Matrix<double>(a.heads * a.queries, a.d);
  a.k = Matrix<double>(a.kv_heads * a.keys, a.d);
  a.v = Matrix<double>(a.kv_heads * a.keys, a.d);
  a.scale = 1 / math::sqrt(static_cast<double>(a.d));
}

void describe(AttentionCase& a, const std::string& kind) {
  a.says = kind + " keys=" + std::to_string(a.keys) + " d=" + std::to_string(a.d) +
           " queries=" + std::to_string(a.queries) + (a.window ? " window=" + std::to_string(a.window) : "") +
           (a.cap > 0 ? " cap=" + std::to_string(a.cap) : "") + (a.has_sink ? " sink=" + std::to_string(a.sink) : "");
}

/// cap tanh(x / cap), tanh within 2.5 ulp.
Bound capped(const Bound& x, double cap) {
  const detail::BoundModel& m = detail::bound_model();
  const double t = math::tanh(x.v / cap), slope = 1 - t * t;
  Bound r(cap * t);
  const double off = x.allowed();
  r.s2 = x.s2 * slope * slope + (3 * m.variance + 25 * m.u * m.u) * r.v * r.v;
  detail::add_symbol(r, x.c * slope, x.symbol);
  r.b = x.b * slope + off * off / cap + 0x1p-50 * std::fabs(r.v);
  r.w = x.w + 9 * m.u * std::fabs(r.v) + 0x1p-50 * std::fabs(r.v);
  return detail::finish(m, r);
}

}  // namespace

bool sees(const AttentionCase& a, Index i, Index j) {
  const Index t = i + a.keys - a.queries;
  return !(a.causal && j > t) && !(a.window > 0 && j <= t - a.window);
}

const char* attention_profile(int profile) {
  constexpr const char* names[] = {"normal",
                                   "uniform",
                                   "large logits",
                                   "heavy tails",
                                   "cancelling V",
                                   "constant V",
                                   "equal keys",
                                   "positive",
                                   "4 distinct keys, V > 0",
                                   "equal keys, constant V",
                                   "ascending logits",
                                   "V tied to the score",
                                   "small integers",
                                   "V = half, -half",
                                   "4 distinct keys"};
  return names[profile];
}

AttentionCase draw_attention(int profile, const Format& in, Random& random) {
  AttentionCase a;
  a.kv_heads = 1 + random.below(2);
  a.heads = a.kv_heads * (1 + random.below(2));
  constexpr Index widths[] = {16, 32, 64, 40}, lengths[] = {17, 64, 97, 160};
  a.d = widths[random.below(4)];
  a.keys = lengths[random.below(4)];
  a.queries = random.below(3) == 0 ? 1 : 6;
  a.window = random.below(4) == 0 ? 13 : 0;
  a.cap = random.below(5) == 0 ? 30 : 0;
  a.has_sink = random.below(5) == 0;
  a.sink = 0.5;
  allocate(a);
  const auto value = [&]() -> double {
    if (profile == 1) return 2 * uniform(random) - 1;
    if (profile == 3) return normal(random) / math::sqrt(uniform(random) + 1e-3) * (uniform(random) < 0.02 ? 20 : 1);
    if (profile == 7) return std::fabs(normal(random));
    if (profile == 12) return static_cast<double>(random.below(7)) - 3;
    return normal(random);
  };
  for (Matrix<double>* m : {&a.q, &a.k, &a.v}) each(*m, [&](double& x, Index, Index) { x = value(); });
  if (profile == 2) each(a.q, [](double& x, Index, Index) { x *= 12; });
  if (profile == 13) each(a.q, [](double& x, Index, Index) { x *= 0.2; });
  const double constant = 0.1 + uniform(random);
  each(a.v, [&](double& x, Index i, Index j) {
    if (profile == 5 || profile == 9) x = constant;
    if (profile == 4 && i % 2 == 1) x = -a.v(i - 1, j) * (1 + 0.01 * normal(random));
    if (profile == 8) x = std::fabs(x);
    if (profile == 13) x = i % a.keys * 2 > a.keys ? -std::fabs(x) : std::fabs(x);
  });
  for (Index i = 0; i < a.k.rows(); ++i) {
    const Index like = profile == 6 || profile == 9                ? 0
                       : (profile == 8 || profile == 14) && i >= 4 ? random.below(4)
                                                                   : i;
    for (Index j = 0; j < a.d; ++j) {
      a.k(i, j) = a.k(like, j);
      if (profile == 10) a.k(i, j) = j == 0 ? 0.25 * static_cast<double>(i % a.keys) : 0.1 * a.k(i, j);
    }
  }
  if (profile == 10)
    for (Index i = 0; i < a.q.rows(); ++i) a.q(i, 0) = 1;
  for (Matrix<double>* m : {&a.q, &a.k}) each(*m, [&](double& x, Index, Index) { x = round_to(in, x); });
  if (profile == 11)
    for (Index h = 0; h < a.kv_heads; ++h)
      for (Index j = 0; j < a.keys; ++j) {
        double score = 0;
        for (Index c = 0; c < a.d; ++c)
          score += a.q(h * (a.heads / a.kv_heads) * a.queries, c) * a.k(h * a.keys + j, c);
        for (Index c = 0; c < a.d; ++c) a.v(h * a.keys + j, c) = score > 0 ? 1 + 0.1 * uniform(random) : -0.5;
      }
  each(a.v, [&](double& x, Index, Index) { x = round_to(in, x); });
  describe(a, attention_profile(profile));
  return a;
}

AttentionCase tiny_attention(const Format& in, Random& random) {
  AttentionCase a;
  a.kv_heads = 1 + random.below(2);
  a.heads = a.kv_heads * (1 + random.below(2));
  constexpr Index widths[] = {4, 8, 12, 20};
  a.d = widths[random.below(4)];
  a.keys = 1 + random.below(16);
  a.queries = std::min<Index>(a.keys, 1 + random.below(4));
  a.window = random.below(5) == 0 ? 3 : 0;
  a.cap = random.below(4) == 0 ? 2 + 6 * uniform(random) : 0;
  a.has_sink = random.below(4) == 0;
  a.sink = -1;
  allocate(a);
  const double spread = random.below(2) == 0 ? 1 : 3;
  for (Matrix<double>* m : {&a.q, &a.k, &a.v})
    each(*m, [&](double& x, Index, Index) { x = round_to(in, (m == &a.v ? 1 : spread) * normal(random)); });
  if (random.below(2) == 0)  // whole numbers, few keys: P alone decides the output
    each(a.v, [&](double& x, Index, Index) { x = static_cast<double>(random.below(3)) - 1; });
  describe(a, "tiny");
  return a;
}

std::vector<AttentionCase> generic_attention(const Format& in, Random& random) {
  std::vector<AttentionCase> all;
  for (int n = 0; n < 14; ++n) {
    AttentionCase a;
    constexpr Index lengths[] = {128, 200, 333};
    a.heads = 4;
    a.kv_heads = 2;
    a.d = n % 3 == 2 ? 48 : 64;
    a.queries = n % 4 == 3 ? 1 : 12;
    a.keys = lengths[n % 3];
    if (n >= 6 && n % 2 == 0) a.window = 64;
    if (n == 7 || n == 9) a.cap = 50;
    if (n == 11) a.cap = 30;
    a.has_sink = n == 8 || n == 10 || n == 12;
    a.sink = 0.7;
    allocate(a);
    for (Matrix<double>* m : {&a.q, &a.k, &a.v})
      each(*m, [&](double& x, Index, Index) { x = round_to(in, normal(random)); });
    describe(a, "generic");
    all.push_back(a);
  }
  return all;
}

std::vector<AttentionCase> structured_attention(const Format& in, Random& random) {
  std::vector<AttentionCase> all;
  const auto base = [](Index heads, Index kv_heads, Index queries, Index keys, Index d) {
    AttentionCase a;
    a.heads = heads;
    a.kv_heads = kv_heads;
    a.queries = queries;
    a.keys = keys;
    a.d = d;
    allocate(a);
    return a;
  };
  const auto one_hot = [](AttentionCase& a) {
    for (Index r = 0; r < a.v.rows(); ++r)
      a.v(r, r % a.keys % a.d) = static_cast<double>(1 + r / a.keys + r % a.keys / a.d * 4);
  };
  const auto whole = [&](Matrix<double>& m, Index reach) {
    each(m, [&](double& x, Index, Index) { x = static_cast<double>(random.below(2 * reach + 1) - reach); });
  };
  const auto fill = [](Matrix<double>& m, auto f) { each(m, [&](double& x, Index i, Index j) { x = f(i, j); }); };
  using I = Index;
  for (int feature = 0; feature < 6; ++feature) {
    std::vector<AttentionCase> some;
    const auto add = [&](AttentionCase a) { some.push_back(std::move(a)); };
    AttentionCase a = base(1, 1, 1, 2, 4);  // two keys, equal logits
    fill(a.v, [](I i, I) { return i == 1 ? 1.0 : 0.0; });
    add(a);
    a = base(1, 1, 4, 4, 4);  // equal logits, one-hot V
    one_hot(a);
    add(a);
    a = base(4, 2, 2, 3, 4);
    fill(a.v, [](I i, I) { return 1 + static_cast<double>(i / 3) + 0.25 * static_cast<double>(i % 3); });
    add(a);
    a = base(2, 1, 2, 5, 4);  // small integers
    whole(a.q, 2);
    whole(a.k, 2);
    one_hot(a);
    add(a);
    a = base(1, 1, 3, 9, 12);  // constant V
    whole(a.q, 3);
    whole(a.k, 3);
    fill(a.v, [](I, I j) { return j == 0 ? 0.0 : 0.75; });
    add(a);
    a = base(1, 1, 2, 40, 4);  // ascending logits
    fill(a.q, [](I, I j) { return j == 0 ? 1.0 : 0.0; });
    fill(a.k, [](I i, I j) { return j == 0 ? 0.25 * static_cast<double>(i) : 0.0; });
    one_hot(a);
    add(a);
    a = base(1, 1, 1, 33, 4);  // two groups, told apart by the last coordinate
    fill(a.q, [](I, I j) { return j == 3 ? 2.0 : 0.0; });
    fill(a.k, [](I i, I j) { return j == 3 ? -1.5 * static_cast<double>(i % 2) : 0.0; });
    fill(a.v, [](I i, I) { return 1 + static_cast<double>(i % 2); });
    add(a);
    a = base(1, 1, 3, 2, 4);  // the first row sees nothing
    fill(a.v, [](I, I) { return 1.0; });
    add(a);
    a = base(1, 1, 1, 24, 4);  // one key dominates
    fill(a.q, [](I, I j) { return j == 0 ? 8.0 : 0.0; });
    fill(a.k, [](I i, I j) { return j != 0 ? 0.0 : i == 20 ? 5.0 : -5.0; });
    fill(a.v, [](I i, I) { return i == 20 ? 1.0 : 1000.0; });
    add(a);
    a = base(1, 1, 1, 48, 4);  // many small probabilities
    fill(a.q, [](I, I j) { return j == 0 ? 4.0 : 0.0; });
    fill(a.k, [](I i, I j) { return j == 0 && i == 0 ? 4.0 : 0.0; });
    fill(a.v, [](I i, I) { return i == 0 ? 0.0 : 1.0; });
    add(a);
    a = base(1, 1, 1, 64, 8);  // nearly cancelling
    fill(a.q, [](I, I j) { return j == 1 ? 1.0 : 0.0; });
    fill(a.k, [](I i, I j) { return j == 1 ? static_cast<double>(i % 8) / 64 + 4 : 0.0; });
    fill(a.v, [&](I i, I) { return i % 8 == 7 ? 1.0 : round_to(in, -1.0 / 7); });
    add(a);
    a = base(1, 1, 1, 257, 4);  // 257 equal keys
    fill(a.v, [](I i, I j) { return j == 0 ? 1.0 : j == 1 ? (i % 2 ? 1.0 : -1.0) : j == 2 && i == 256 ? 1.0 : 0.0; });
    add(a);
    a = base(1, 1, 1, 90, 16);  // equal keys, whole values: nothing is rounded before the division
    whole(a.v, 8);
    add(a);
    for (AttentionCase& s : some) {
      if (feature == 1 || feature == 4) s.window = 2;
      if (feature == 5) s.window = 3;
      if (feature == 2) s.cap = 1;
      if (feature == 5) s.cap = 4;
      s.has_sink = feature == 3 || feature == 4;
      s.sink = feature == 3 ? 2 : -1;
      describe(s, "structured");
      all.push_back(std::move(s));
    }
  }
  return all;
}

SoftmaxMean<Bound> define_attention(const AttentionCase& a) {
  SoftmaxMean<Bound> y{Vector<Bound>(a.heads * a.queries), Matrix<Bound>(a.heads * a.queries, a.d)};
  const auto lift = [](const Matrix<double>& x, Index first, Index last) {
    Matrix<Bound> z(last - first, x.cols());
    for (Index i = first; i < last; ++i)
      for (Index j = 0; j < x.cols(); ++j) z(i - first, j) = Bound(x(i, j));
    return z;
  };
  Mask keep(a.queries, a.keys);
  for (Index i = 0; i < a.queries; ++i)
    for (Index j = 0; j < a.keys; ++j) keep(i, j) = sees(a, i, j);
  for (Index h = 0; h < a.heads; ++h) {
    const Index kv = h / (a.heads / a.kv_heads);
    const Matrix<Bound> q = lift(a.q, h * a.queries, (h + 1) * a.queries);
    const Matrix<Bound> k = lift(a.k, kv * a.keys, (kv + 1) * a.keys), v = lift(a.v, kv * a.keys, (kv + 1) * a.keys);
    //  s = scale q k^T, capped
    Matrix<Bound> s = a.scale * matmul(q, transpose(k));
    if (a.cap > 0)
      for (Index i = 0; i < s.rows(); ++i)
        for (Index j = 0; j < s.cols(); ++j) s(i, j) = capped(s(i, j), a.cap);
    s = at(Site::scores, s);
    const SoftmaxMean<Bound> one =
        softmax_mean(s, v, keep, a.has_sink ? full<Bound>(a.queries, a.sink) : Vector<Bound>());
    for (Index i = 0; i < a.queries; ++i) {
      y.lse[h * a.queries + i] = one.lse[i];
      for (Index c = 0; c < a.d; ++c) y.o(h * a.queries + i, c) = one.o(i, c);
    }
  }
  return y;
}

}  // namespace assay::experiment
