#include "reference/core/readings/wide.hpp"

#include <cmath>

// Names and error bounds (u = 2^-53) as in Joldes, Muller & Popescu 2017, "Tight and rigorous error bounds for basic
// building blocks of double-word arithmetic", ACM TOMS 44(2). What the paper excludes is settled by the high words
// alone: where their IEEE result is zero, infinite or NaN it is the result, and no error term (inf - inf) gets near it.
namespace assay {
namespace {

/// x + y = hi + lo exactly. Knuth's two-sum.
Wide two_sum(double x, double y) {
  const double s = x + y;
  const double x1 = s - y, y1 = s - x1;
  return {s, (x - x1) + (y - y1)};
}

/// x y = hi + lo exactly, as long as lo does not underflow.
Wide two_prod(double x, double y) {
  const double p = x * y;
  return {p, std::fma(x, y, -p)};
}

/// x + y = hi + lo exactly for |x| >= |y|: the last step of every operation. A sum that overflows here has no low word.
Wide fast_two_sum(double x, double y) {
  const double s = x + y;
  return {s, std::isfinite(s) ? y - (s - x) : 0.0};
}

bool settled(double high) { return high == 0 || !std::isfinite(high); }

/// x 2^e, each word rounded where it becomes subnormal.
Wide scale(const Wide& x, int e) {
  const double hi = std::ldexp(x.hi, e);
  return settled(hi) ? Wide(hi) : fast_two_sum(hi, std::ldexp(x.lo, e));
}

}  // namespace

/// AccurateDWPlusDW: relative error at most 3u^2 + 13u^3.
Wide operator+(const Wide& x, const Wide& y) {
  const Wide s = two_sum(x.hi, y.hi);
  if (s.hi == 0) {  // the high words cancelled (or are zeros, whose sign is kept)
    const Wide low = two_sum(x.lo, y.lo);
    return low.hi == 0 ? Wide(s.hi) : low;
  }
  // Not finite where s overflows, or next to overflow where an inner step of two_sum does.
  const double error = std::isfinite(s.lo) ? s.lo : 0;
  const Wide t = two_sum(x.lo, y.lo);
  const Wide v = fast_two_sum(s.hi, error + t.hi);
  return fast_two_sum(v.hi, t.lo + v.lo);
}

Wide operator-(const Wide& x, const Wide& y) { return x + -y; }

/// DWTimesDW3: relative error below 5u^2 (4u^2 + O(u^3) proved since).
Wide operator*(const Wide& x, const Wide& y) {
  const Wide c = two_prod(x.hi, y.hi);
  if (settled(c.hi)) return c.hi;
  const double t = std::fma(x.hi, y.lo, x.lo * y.lo);
  return fast_two_sum(c.hi, c.lo + std::fma(x.lo, y.hi, t));
}

/// DWDivDW2: relative error at most 15u^2 + 56u^3. Both operands are scaled to [1/2, 1) first, so that only the result
/// can overflow or underflow.
Wide operator/(const Wide& x, const Wide& y) {
  const double q = x.hi / y.hi;
  if (settled(x.hi) || settled(y.hi)) return q;
  int ex = 0, ey = 0;
  std::frexp(x.hi, &ex);
  std::frexp(y.hi, &ey);
  const Wide n = scale(x, -ex), d = scale(y, -ey);
  const double high = n.hi / d.hi;
  const Wide c = two_prod(high, d.hi);  // r = high d = DWTimesFP3
  const Wide r = fast_two_sum(c.hi, std::fma(high, d.lo, c.lo));
  const double rest = (n.hi - r.hi) + (n.lo - r.lo);
  return scale(fast_two_sum(high, rest / d.hi), ex - ey);
}

/// SQRTDWtoDW of Lefevre, Louvet, Muller, Picot & Rideau 2023 (ACM TOMS 49(1)): relative error at most 25/8 u^2.
Wide sqrt(const Wide& x) {
  if (settled(x.hi) || x.hi < 0) return std::sqrt(x.hi);
  int e = 0;
  std::frexp(x.hi, &e);
  e &= ~1;  // an even power of two leaves the root exact
  const Wide m = scale(x, -e);
  const double high = std::sqrt(m.hi);
  const double rest = std::fma(-high, high, m.hi) + m.lo;
  return scale(fast_two_sum(high, rest / (2 * high)), e / 2);
}

}  // namespace assay
