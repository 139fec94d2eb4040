#pragma once
#include <cstdint>

namespace assay {

/// How many scalar operations a definition asks for.
struct Operations {
  std::int64_t add = 0, multiply = 0, divide = 0, function = 0,
               compare = 0;  // subtractions count as add; function: exp, log, tanh, sqrt
};

/// A value whose operations are counted into this thread's tally.
struct Count {
  double v = 0;
  Count() = default;
  Count(double value) : v(value) {}  // NOLINT: a number costs nothing
};

/// This thread's tally; set it to {} before an evaluation.
Operations& tally();

inline Count operator+(const Count& x, const Count& y) { return ++tally().add, Count(x.v + y.v); }
inline Count operator-(const Count& x, const Count& y) { return ++tally().add, Count(x.v - y.v); }
inline Count operator*(const Count& x, const Count& y) { return ++tally().multiply, Count(x.v * y.v); }
inline Count operator/(const Count& x, const Count& y) { return ++tally().divide, Count(x.v / y.v); }
inline Count operator-(const Count& x) { return Count(-x.v); }
Count exp(const Count& x);
Count exp2(const Count& x);
Count log(const Count& x);
Count tanh(const Count& x);
Count sqrt(const Count& x);
inline Count max(const Count& x, const Count& y) {
  return ++tally().compare, Count(x.v >= y.v || x.v != x.v ? x.v : y.v);
}

bool operator<(const Count&, const Count&) = delete;
bool operator>(const Count&, const Count&) = delete;
bool operator<=(const Count&, const Count&) = delete;
bool operator>=(const Count&, const Count&) = delete;
bool operator==(const Count&, const Count&) = delete;

inline double value(const Count& x) { return x.v; }

}  // namespace assay
