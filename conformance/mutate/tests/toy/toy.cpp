#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// A subject with one small function for each kind of mutant; tests/mutants_test.cpp knows what every one of them
// computes.
namespace assay {
namespace {

float sum(const In& x, std::int64_t n) {
  float total = 0.5f;
  for (std::int64_t i = 0; i < n; ++i) total += x(i);
  return total;
}

float distance(float a, float b) { return a > b ? a - b : b / -a; }

bool between(float a, float low, float high) { return a >= low && a <= high; }

float largest(const In& x, std::int64_t n) {
  float m = -INFINITY;
  for (std::int64_t i = n - 1; i != 0; --i) {
    m = std::max(m, x(i) * 2.0f);
  }
  return m;
}

float product(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> sums(2);
  for (std::size_t i = 0; i < 2; ++i) {
    float dot = 3;
    for (std::size_t k = 0; k < 2; ++k) dot += a[2 * i + k] * b[k];
    sums[i] = dot;
  }
  return sums[0] + 10 * sums[1];
}

float guarded(const In& x, bool wrong) {
  float r = 7;
  if (x(0) == 1) r = std::sqrt(x(2));
  return wrong ? 3 * r : r;
}

}  // namespace

SUBJECT(toy) {
  const In x = s.in("x");
  const Out y = s.out("y");
  const std::int64_t n = x.size(0);
  y.set(0, sum(x, n));
  y.set(1, distance(x(1), x(0)) + 100 * distance(x(0), x(1)));
  y.set(2, between(x(0), 1, 2) || !between(x(1), 1, 2) ? 1.0f : 0.0f);
  y.set(3, largest(x, n));
  y.set(4, product({1, 2, 3, 4}, {5, 6}));
  y.set(5, guarded(x, s.bug("tripled")));
}

}  // namespace assay
