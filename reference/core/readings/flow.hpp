#pragma once
#include <cstdint>

namespace assay {

/// A value and the set of tokens (rows 0..63 of the inputs) that it depends on. Selecting drops what was not selected.
struct Flow {
  double v = 0;
  std::uint64_t tokens = 0;
  Flow() = default;
  Flow(double value, std::uint64_t set = 0) : v(value), tokens(set) {}  // NOLINT: a number depends on no token
};

inline Flow operator+(const Flow& x, const Flow& y) { return {x.v + y.v, x.tokens | y.tokens}; }
inline Flow operator-(const Flow& x, const Flow& y) { return {x.v - y.v, x.tokens | y.tokens}; }
inline Flow operator*(const Flow& x, const Flow& y) { return {x.v * y.v, x.tokens | y.tokens}; }
inline Flow operator/(const Flow& x, const Flow& y) { return {x.v / y.v, x.tokens | y.tokens}; }
inline Flow operator-(const Flow& x) { return {-x.v, x.tokens}; }
Flow exp(const Flow& x);
Flow exp2(const Flow& x);
Flow log(const Flow& x);
Flow tanh(const Flow& x);
Flow sqrt(const Flow& x);
inline Flow max(const Flow& x, const Flow& y) { return {x.v >= y.v || x.v != x.v ? x.v : y.v, x.tokens | y.tokens}; }

bool operator<(const Flow&, const Flow&) = delete;
bool operator>(const Flow&, const Flow&) = delete;
bool operator<=(const Flow&, const Flow&) = delete;
bool operator>=(const Flow&, const Flow&) = delete;
bool operator==(const Flow&, const Flow&) = delete;

inline double value(const Flow& x) { return x.v; }

}  // namespace assay
