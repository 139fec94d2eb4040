#pragma once

namespace assay {

/// Double-double: the unevaluated sum hi + lo, |lo| <= ulp(hi)/2, about 104 bits. Relative error of + - * / sqrt:
/// 2^-102; of exp, exp2, tanh and log: 2^-98 (log also next to 1), tested against MPFR; below 2^-960 the low word
/// underflows and the error is absolute, 2^-1074. Zeros, infinities, NaN and overflow are the IEEE result of the high
/// words, with lo = 0. Source: Joldes, Muller & Popescu 2017, Tight and rigorous error bounds for basic building blocks
/// of double-word arithmetic.
struct Wide {
  double hi = 0, lo = 0;
  Wide() = default;
  Wide(double value) : hi(value) {}  // NOLINT: a double is a Wide
  Wide(double high, double low) : hi(high), lo(low) {}
};

Wide operator+(const Wide& x, const Wide& y);
Wide operator-(const Wide& x, const Wide& y);
Wide operator*(const Wide& x, const Wide& y);
Wide operator/(const Wide& x, const Wide& y);
inline Wide operator-(const Wide& x) { return {-x.hi, -x.lo}; }
Wide exp(const Wide& x);
Wide exp2(const Wide& x);
Wide log(const Wide& x);
Wide tanh(const Wide& x);
Wide sqrt(const Wide& x);
inline bool operator<(const Wide& x, const Wide& y) { return x.hi < y.hi || (x.hi == y.hi && x.lo < y.lo); }
inline Wide max(const Wide& x, const Wide& y) { return x.hi != x.hi || (y.hi == y.hi && !(x < y)) ? x : y; }

inline double value(const Wide& x) { return x.hi; }

}  // namespace assay
