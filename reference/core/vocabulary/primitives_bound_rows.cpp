// Row statistics, the shift of a softmax, shared values and rounding sites of Bounds.
#include <algorithm>
#include <atomic>

#include "reference/core/math.hpp"
#include "reference/core/vocabulary/bound_accumulate.hpp"
#include "reference/core/vocabulary/primitives.hpp"

namespace assay::prim {

using namespace detail;

namespace {

/// A symbol no other value of this process has: threads take blocks of them. Only whether two are equal ever matters.
std::uint32_t new_symbol() {
  static std::atomic<std::uint32_t> blocks{0};
  thread_local std::uint32_t next = 0, end = 0;
  if (next == end) {
    next = blocks.fetch_add(1, std::memory_order_relaxed) * 4096u + 1;
    end = next + 4095;
  }
  return next++;
}

/// A constant that a kernel may hold in the accumulator's format.
Bound constant(const BoundModel& m, double x) {
  Bound r(x);
  if (!representable(m, x)) add_rounding(m, r, 1, true);
  return r;
}

/// 1 / sqrt(x), with the contract's error of that function.
Bound rsqrt(const Bound& x) {
  const BoundModel& m = bound_model();
  Bound r(1 / math::sqrt(x.v));
  if (special(r.v) || x.v <= 0) return r;
  const double rho = detail::allowed(x, m.z) / x.v, rho_w = x.w / x.v;
  if (rho >= 1) return unbounded(r.v);
  const double own = 2 * kOwn * r.v;
  r.s2 = square(r.v) * (x.s2 / square(2 * x.v) + square(m.rsqrt_error));
  add_symbol(r, -r.v * x.c / (2 * x.v), x.symbol);
  // |1/sqrt(1 + t) - 1 + t/2| <= 1/sqrt(1 - |t|) - 1 - |t|/2, which is at most t^2 (1 - |t|)^(-5/2) 3/8
  const double rest = 1 - rho;
  r.b = r.v * (x.b / (2 * x.v) + 0.375 * rho * rho / (rest * rest * math::sqrt(rest))) + own;
  r.w = rho_w >= 1 ? __builtin_huge_val() : r.v * (1 / math::sqrt(1 - rho_w) - 1 + 4 * kOwn);
  r.w = (r.w + m.rsqrt_error * (r.v + r.w) + own) * (1 + 0x1p-40);
  return finish(m, r);
}

/// Adds to the sum of squares of c = x - mean what one pass over x may err by more than two passes.
/// Welford's M_k = M_(k-1) + (x_k - m_(k-1))(x_k - m_k) inherits the rounding of every running mean m_j: it enters with
/// weight (x_j - m_(j-1)) - 2 C_j, C_j the sum of the first j centred values (sum the recurrence; j (mean - m_j) =
/// -C_j). Lanes joined by Chan's formula have the subsets of their lanes in place of the first j values: for them, the
/// mean of C_j^2 over all subsets of j values, j (n - j)/(n - 1) mean(c^2), is added. In the worst case |C_j| is half
/// of sum |c|, and sum_j |m_j| <= (1 + ln n) sum |x|.
void add_one_pass(const BoundModel& m, const Bound* c, Index n, Index stride, double mean, Bound& squares) {
  bool equal = true;  // then running means are exact
  for (Index i = 1; i < n; ++i) equal = equal && c[i * stride].v == c[0].v;
  if (equal || special(squares.v)) return;
  const auto count = static_cast<double>(n);
  double prefix = 0, deviation = 0, absolute = 0, away = 0, variance = 0;
  for (Index i = 0; i < n; ++i) {
    const double v = c[i * stride].v, j = static_cast<double>(i) + 1;
    const double step = i == 0 ? 0 : v - prefix / (j - 1);  // x_j - m_(j-1)
    prefix += v;
    absolute += std::fabs(v + mean);
    away += std::fabs(v);
    if (i == 0) continue;
    const double rounding = square(mean + prefix / j) + 2 * square(step / j);  // of m_j, and of its increment
    const double subsets = j * (count - j) / (count - 1) * squares.v / count;
    variance += rounding * (square(std::fabs(step) + 2 * std::fabs(prefix)) + 4 * subsets);
    deviation += std::fabs(step) / j;
  }
  squares.s2 += m.variance * variance;
  const double running = m.u * (absolute * (1 + math::log(count)) + 2 * deviation);
  squares.w += (2 * away * running + count * square(running)) * (1 + 0x1p-20);
}

Bound variance_of(const Bound* c, Index n, Index stride, double mean) {
  Bound squares = sum_squares(c, n, stride);
  add_one_pass(bound_model(), c, n, stride, mean, squares);
  return finish(bound_model(), squares) / Bound(static_cast<double>(n));
}

}  // namespace

Bound share(const Bound& x) {
  if (errorless(x) || x.c * x.c >= x.s2 || !algebra_switches().share) return x;
  Bound r = x;
  r.c = std::sqrt(x.s2 + x.c * x.c);
  r.s2 = 0;
  r.folded = 0;
  r.symbol = new_symbol();
  return r;
}

void sub(const Matrix<Bound>& x, Index i, const Bound& a, Matrix<Bound>& z) {
  const Bound s = share(a);
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) - s;
}
void scale(const Matrix<Bound>& x, Index i, const Bound& a, Matrix<Bound>& z) {
  const Bound s = share(a);
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) * s;
}
void divide(const Matrix<Bound>& x, Index i, const Bound& a, Matrix<Bound>& z) {
  const Bound s = share(a);
  for (Index j = 0; j < x.cols(); ++j) z(i, j) = x(i, j) / s;
}

Bound inv_rms(const Bound* x, Index n, Index stride, double eps) {
  const BoundModel& m = bound_model();
  return share(rsqrt(sum_squares(x, n, stride) / Bound(static_cast<double>(n)) + constant(m, eps)));
}

Bound inv_rms_eps_outside(const Bound* x, Index n, Index stride, double eps) {
  const BoundModel& m = bound_model();
  const Bound mean = sum_squares(x, n, stride) / Bound(static_cast<double>(n));
  return share(Bound(1) / (sqrt(mean) + constant(m, eps)));
}

Bound inv_std(const Bound* c, Index n, Index stride, const Bound& mean, double eps) {
  return share(rsqrt(variance_of(c, n, stride, mean.v) + constant(bound_model(), eps)));
}

Bound inv_std_eps_outside(const Bound* c, Index n, Index stride, const Bound& mean, double eps) {
  return share(Bound(1) / (sqrt(variance_of(c, n, stride, mean.v)) + constant(bound_model(), eps)));
}

Bound max_value(const Bound* x, Index n, Index stride) {
  if (n == 0) return Bound(-__builtin_huge_val());
  const double z = bound_model().z;
  Index best = 0;
  for (Index i = 0; i < n; ++i) {
    const double v = x[i * stride].v, top = x[best * stride].v;
    if (v != v) return Bound(v);
    if (v > top || (v == top && std::signbit(top) && !std::signbit(v))) best = i;
  }
  Bound r = x[best * stride];
  if (special(r.v)) return Bound(r.v);
  double above = 0, above_w = r.w;
  for (Index i = 0; i < n; ++i) {
    const Bound& e = x[i * stride];
    if (i == best || special(e.v)) continue;
    above = std::max(above, e.v + detail::allowed(e, z) - r.v);
    above_w = std::max(above_w, e.v + e.w - r.v);
  }
  // Whoever wins is at least what the winner here is for the kernel, and at most the highest candidate.
  r.b += above;
  r.w = above_w;
  return r;
}

Bound anchor(const Bound& x) { return Bound(x.v == -__builtin_huge_val() ? 0.0 : x.v); }

bool passes(Site s, const Bound*) { return s == Site::output || reading().contract == nullptr; }

/// `output` is judged by the interval of reals that round to what was observed: nothing to add. Elsewhere the site is
/// emulated: if everything the kernel may hold rounds to one value of the format, that value comes out without error;
/// if to two neighbours, the nearer one, and b and w cover the other. If the errors span several values, the site adds
/// the variance of one rounding.
Bound site(Site s, const Bound& x) {
  const BoundModel& m = bound_model();
  if (s == Site::output || special(x.v)) return x;
  const Format& f = m.contract->site(s);
  if (f.p() >= m.acc->p() && f.emin() <= m.acc->emin() && f.max_finite() >= m.max) return x;
  const double a = detail::allowed(x, m.z);
  Bound r(round_to(f, x.v));
  const double lo = round_to(f, x.v - a), hi = round_to(f, x.v + a);
  const double lo_w = x.w == a ? lo : round_to(f, x.v - x.w), hi_w = x.w == a ? hi : round_to(f, x.v + x.w);
  if (special(lo) && special(hi)) return r;
  if (special(lo) || special(hi)) return unbounded(x.v);
  if (hi - lo <= 1.5 * ulp(f, std::max(std::fabs(lo), std::fabs(hi)))) {
    r.b = std::max(hi - r.v, r.v - lo);
    r.w = std::max({hi_w - r.v, r.v - lo_w, r.b});
    return r;
  }
  r = x;
  const double h = std::max(f.u() * (std::fabs(x.v) + a), f.min_subnormal() / 2);
  r.s2 += h * h / 3;
  if (std::fabs(x.v) - a < f.min_normal()) r.b += std::min(std::fabs(x.v) + a, f.min_subnormal() / 2);
  r.w += std::max(f.u() * (std::fabs(x.v) + x.w), f.min_subnormal() / 2) * (1 + 0x1p-40);
  return finish(m, r);
}

}  // namespace assay::prim
