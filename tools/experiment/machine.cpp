#include "tools/experiment/machine.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

namespace assay::experiment {

namespace {

std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// s + e, e the error of s, toward zero in fp32.
float truncated(double s, double e) {
  if (!std::isfinite(s)) return static_cast<float>(s);
  const double t = round_to(formats::fp32, s, Round::toward_zero);
  if (t == s && e != 0 && std::signbit(e) != std::signbit(s)) return std::nextafter(static_cast<float>(t), 0.0f);
  return static_cast<float>(t);
}

double sum_error(double a, double b, double s) {
  const double t = s - a;
  return (a - (s - t)) + (b - t);
}

/// The order in which a permuting schedule visits n terms.
std::vector<std::size_t> permutation(const Floats& key, Schedule s, Random& random) {
  std::vector<std::size_t> p(key.size());
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = i;
  if (s == Schedule::backward) std::reverse(p.begin(), p.end());
  if (s == Schedule::shuffled)
    for (std::size_t i = p.size(); i > 1; --i)
      std::swap(p[i - 1], p[static_cast<std::size_t>(random.below(static_cast<Index>(i)))]);
  if (s == Schedule::ascending)
    std::stable_sort(p.begin(), p.end(), [&](std::size_t i, std::size_t j) { return key[i] < key[j]; });
  if (s == Schedule::by_size)
    std::stable_sort(p.begin(), p.end(),
                     [&](std::size_t i, std::size_t j) { return std::fabs(key[i]) > std::fabs(key[j]); });
  return p;
}

/// Adds n terms, put(acc, i) being acc + term i and first(i) term i.
template <class First, class Put>
float reduce(std::size_t n, const Floats& key, Schedule s, const Accumulator& acc, Random& random, First first,
             Put put) {
  if (n == 0) return 0;
  if (s == Schedule::pairwise) {
    std::function<float(std::size_t, std::size_t)> tree = [&](std::size_t lo, std::size_t hi) -> float {
      if (hi - lo == 1) return first(lo);
      const std::size_t mid = (lo + hi) / 2;
      return acc.add(tree(lo, mid), tree(mid, hi));
    };
    return tree(0, n);
  }
  const std::size_t lanes = s == Schedule::lanes8 || s == Schedule::blocks8 ? 8 : s == Schedule::lanes32 ? 32 : 1;
  if (lanes > 1 || s == Schedule::tiles64) {
    const std::size_t parts = s == Schedule::tiles64 ? (n + 63) / 64 : lanes;
    Floats part(parts, 0.0f);
    for (std::size_t i = 0; i < n; ++i) {
      float& p = part[s == Schedule::tiles64 ? i / 64 : s == Schedule::blocks8 ? i * parts / n : i % parts];
      p = put(p, i);
    }
    float total = part[0];
    for (std::size_t l = 1; l < parts; ++l) total = acc.add(total, part[l]);
    return total;
  }
  float total = 0;
  if (s == Schedule::forward)
    for (std::size_t i = 0; i < n; ++i) total = put(total, i);
  else
    for (std::size_t i : permutation(key, s, random)) total = put(total, i);
  return total;
}

}  // namespace

Random::Random(std::uint64_t seed) : state(seed) {}
std::uint64_t Random::bits() { return mix(state += 0x9E3779B97F4A7C15ull); }

double noise_of(double x) {
  return static_cast<double>(mix(std::bit_cast<std::uint64_t>(x) + 0x9E3779B97F4A7C15ull) >> 11) * 0x1p-52 - 1;
}

Order class_of(Schedule s) {
  if (s <= Schedule::backward) return Order::contiguous;
  return s <= Schedule::shuffled ? Order::oblivious : Order::any;
}

const char* name(Schedule s) {
  constexpr const char* names[] = {"forward", "backward", "pairwise", "lanes8",    "lanes32",
                                   "blocks8", "tiles64",  "shuffled", "ascending", "by size"};
  return names[static_cast<int>(s)];
}

float Accumulator::add(float a, float b) const {
  if (narrow) return static_cast<float>(round_to(*narrow, static_cast<double>(a) + b));
  if (!truncates) return a + b;
  const double x = a, y = b, s = x + y;
  return truncated(s, sum_error(x, y, s));
}

float Accumulator::fma(float a, float b, float c) const {
  if (narrow) return static_cast<float>(round_to(*narrow, static_cast<double>(a) * b + c));
  if (!truncates) return std::fma(a, b, c);
  const double x = static_cast<double>(a) * b, y = c, s = x + y;
  return truncated(s, sum_error(x, y, s));
}

float sum(const Floats& x, Schedule s, const Accumulator& acc, Random& random) {
  return reduce(
      x.size(), x, s, acc, random, [&](std::size_t i) { return x[i]; },
      [&](float t, std::size_t i) { return acc.add(t, x[i]); });
}

float dot(const Floats& a, const Floats& b, Schedule s, bool fused, const Accumulator& acc, Random& random) {
  Floats key;
  if (class_of(s) == Order::any)
    for (std::size_t i = 0; i < a.size(); ++i) key.push_back(a[i] * b[i]);
  else
    key.resize(a.size());
  const auto product = [&](std::size_t i) { return acc.fma(a[i], b[i], 0.0f); };
  return reduce(a.size(), key, s, acc, random, product,
                [&](float t, std::size_t i) { return fused ? acc.fma(a[i], b[i], t) : acc.add(t, product(i)); });
}

float mma_step(float c, const float* a, const float* b, std::size_t k, int f) {
  double plain = c;
  for (std::size_t i = 0; i < k; ++i) plain += static_cast<double>(a[i]) * b[i];
  if (!std::isfinite(plain)) return static_cast<float>(plain);
  int e = c != 0 ? std::max(std::ilogb(c), -126) : -126;
  for (std::size_t i = 0; i < k; ++i)
    if (a[i] != 0 && b[i] != 0) e = std::max(e, std::ilogb(a[i]) + std::ilogb(b[i]));
  const double unit = std::ldexp(1.0, e - f);
  double s = std::trunc(c / unit);
  for (std::size_t i = 0; i < k; ++i) s += std::trunc(static_cast<double>(a[i]) * b[i] / unit);
  return static_cast<float>(round_to(formats::fp32, s * unit, Round::toward_zero));
}

float mma_dot(const Floats& a, const Floats& b, int f, int k0, int splits) {
  const std::size_t n = a.size(), s = static_cast<std::size_t>(splits), step = static_cast<std::size_t>(k0);
  float total = 0;
  for (std::size_t p = 0; p < s; ++p) {
    float c = 0;
    for (std::size_t i = n * p / s, end = n * (p + 1) / s; i < end; i += step)
      c = mma_step(c, &a[i], &b[i], std::min(step, end - i), f);
    total = p == 0 ? c : total + c;
  }
  return total;
}

}  // namespace assay::experiment
