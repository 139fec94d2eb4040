#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "conformance/engine/subject.hpp"

#define TWICE(x) ((x) + (x))  // a macro's text is not touched

/* Forms that a rewriter of tokens could take for something else: a < b > c, "quotes" and 'c' in comments. */
namespace assay {
namespace {

constexpr int block = 4;
enum class Mode { plain, other };
struct Pair {
  float low = -1.0f, high = +1;
  float width() const { return high - low; }
};

template <class T>
T clamp_to(T v, const Pair& to) {
  static_assert(sizeof(T) >= 1 + 1, "template arguments and constant expressions stay");
  return v < static_cast<T>(to.low) ? to.low : v > static_cast<T>(to.high) ? to.high : v;
}

float walk(const float* p, std::int64_t n, float& last) {
  float sum = 0.0f, best = -INFINITY;
  const float* end = p + n;
  while (p != end) {
    const float v = *p++;
    if (v > best)
      best = v;
    else if (v == best)
      sum += 1e-3f;
    sum += (float)-v * 2.f + -(-v);
  }
  last = n > 0 ? end[-1] : 0.f;
  return sum - best;
}

int count(const std::vector<std::vector<float>>& rows, Mode mode) {
  int total = 0;
  for (const auto& row : rows) {
    for (float v : row) total += v > 0 ? 1 : 0;
  }
  switch (mode) {
    case Mode::plain:
      return total;
    case Mode::other:
      total *= 2;
      break;
    default:
      return 0x7fff'ffff;
  }
  do {
    --total;
  } while (total % 3 != 0);
  return total;
}

}  // namespace

SUBJECT(syntax) {
  const In x = s.in("x");
  const Out y = s.out("y");
  const auto n = x.size(0);
  const bool wrong = s.bug("wrong"), right = !s.bug("other_bug");
  std::array<float, 8> window{};
  float fixed[2 * block] = {1.0f, 2.0f};
  for (std::int64_t i = 0, j = n; i < j && i < 8; i++) window[static_cast<std::size_t>(i)] = x(i);
  const auto square = [&](float v) -> float { return v * v + fixed[0]; };
  const auto add = [n](float a, float b) { return a + b * static_cast<float>(n); };
  float last = 0;
  float acc = walk(window.data(), std::min<std::int64_t>(n, 8), last);
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<float> scratch(static_cast<std::size_t>(n), 0.25f);
    std::int64_t left = n - i, steps = 0;
    while (left > 0 && (steps < 3 || !right)) {
      left /= 2;
      steps += 1;
    }
    if (wrong) {
      acc = -1;
      continue;
    }
    if (s.bug("third") || i % 2 == 1)
      acc += add(scratch[0], static_cast<float>(steps));
    else
      acc -= square(x(i)) / TWICE(2.0f);
    acc *= std::fmax(0.5f, std::fabs(clamp_to<float>(x(i), {-2.0f, 2.5f}))) < 1.0f ? 1.5f : 1.0f;
  }
  for (int turn = 0;; ++turn) {
    if (turn == 40 || acc < 1e6f) break;
    acc = acc / 2;
  }
  y.set(0, acc);
  y.set(1, last);
  y.set(2, static_cast<float>(count({{1.0f, -1.0f}, {2.0f}}, wrong ? Mode::plain : Mode::other)));
  y.set(3, Pair{}.width() + static_cast<float>(sizeof(float) * 2 + (1u << 3) % 5));
}

}  // namespace assay
