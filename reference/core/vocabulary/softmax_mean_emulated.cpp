// The softmax-weighted mean where it is known what the stored weights are.
#include <algorithm>
#include <cmath>

#include "reference/core/kernels.hpp"
#include "reference/core/math.hpp"
#include "reference/core/vocabulary/softmax_mean_column.hpp"

namespace assay::detail {

std::optional<Stored> emulate(const BoundModel& m, const Passage& way, const MeanRow& r, const Bound& sink) {
  const Contract& c = *m.contract;
  const bool normalised = c.p_scale == PScale::normalised;
  if (r.unbounded || sink.v + 8 * sink.w > r.m || (way.several && (normalised || !way.in_order))) return std::nullopt;
  Stored y;
  double all = m.z * std::sqrt(r.sum.s2) + r.sum.b;  // what l may deviate
  if (r.p_sink > 0) all += r.p_sink * (m.z * std::sqrt(r.sink_eta) + r.sink_linear);
  for (std::size_t k = 0; k < r.e.size(); ++k) all += r.p[k] * r.deviation[k];
  const double exponent = c.exponent == Exponent::fma ? 2 * m.u * r.size : 0;
  for (std::size_t k = 0; k < r.e.size(); ++k) {
    const double deviation = r.deviation[k] + exponent + (normalised ? all + 3 * m.u : 0);
    const double factor = r.met[k] == r.top ? 1 : math::exp(r.met[k] - r.top);
    const double e = normalised ? r.p[k] : factor == 1 ? r.e[k] : math::exp(r.s[k] - r.met[k]);
    const double away = e * deviation, stored = round_to(*c.p, e);
    const double low = round_to(*c.p, e - away), high = round_to(*c.p, e + away);
    if (high - low > 1.5 * ulp(*c.p, high)) return std::nullopt;
    y.weight.push_back(stored * factor);
    y.ambiguous.push_back((high - low + (e < m.min_normal ? e : 0)) * factor);
  }
  if (normalised) return y;
  const bool rounded = c.l == RowSum::rounded;
  y.l = rounded ? kernels::sum(y.weight.data(), r.n) + r.p_sink * r.l : r.l;
  y.variance = r.sum.s2 + square(r.p_sink) * r.sink_eta;
  y.linear = r.sum.b + square(all) + r.p_sink * r.sink_linear + exponent;
  if (rounded) return y;
  for (std::size_t k = 0; k < r.e.size(); ++k)  // exp may always err the same way
    y.linear += r.p[k] * (r.linear[k] + r.second[k] + r.approximate[k]);
  y.variance += grouped(r, way, r.p, r.eta);
  return y;
}

Bound mean_of(const BoundModel& m, const Passage& way, const MeanRow& r, const Stored& stored, const Column& v,
              double exact_mean) {
  if (special(exact_mean)) return Bound(exact_mean);
  const Contract& c = *m.contract;
  const bool normalised = c.p_scale == PScale::normalised, rounded = c.l == RowSum::rounded;
  thread_local Products y;
  thread_local Numbers moved;
  thread_local SymbolSums symbols;
  bool clear = true;
  for (double a : stored.ambiguous) clear = clear && a == 0;
  multiply(m, r, stored.weight, v, clear, y);
  double numerator = 0;
  for (std::size_t k = 0; k < v.x.size(); ++k) numerator = std::fma(stored.weight[k], v.x[k], numerator);
  Bound out(numerator / stored.l);
  if (special(out.v) || special(y.sum.b) || overflows(m, way, v)) return unbounded(out.v);
  const double scale = 1 / stored.l, size = std::fabs(out.v);
  const double roundings = normalised || (r.sum.exact && power_of_two(stored.l) && (!way.several || r.n == 1)) ? 0 : 2;
  double common = square(out.v) * stored.variance;
  out.b = (y.sum.b + y.lost) * scale + size * stored.linear + own_error(way, r, y, out.v);
  moved.clear();
  symbols.clear();
  for (std::size_t k = 0; k < v.x.size(); ++k) {
    out.b += stored.ambiguous[k] * scale * std::fabs(rounded ? v.x[k] - out.v : v.x[k]);
    moved.push_back((stored.weight[k] * v.x[k] - (rounded ? stored.weight[k] : r.e[k]) * out.v) * scale);
    if (!rounded && !normalised) symbols.add(-out.v * r.p[k] * r.inherited_c[k], r.symbol[k]);
  }
  common += rescaled(m, r, way, moved);
  out.s2 = common + y.sum.s2 * square(scale) + roundings * m.variance * square(out.v);
  if (way.several && r.n > 1) out.s2 += ends_of_tiles(m, way, r, stored.weight, scale, v, out.v);
  if (v.errors) add_values(r, stored.weight, scale, v, symbols, out);
  symbols.move_to(out);
  out.folded = static_cast<float>(std::sqrt(common));
  if (clear && y.sum.exact && out.s2 == 0 && stored.linear == 0 && roundings == 0 && !v.errors) return Bound(out.v);
  const double own = 2 * own_error(way, r, y, out.v);
  multiply(m, r, r.e, v, false, y);
  out.w = worst_of(m, way, r, v, y, exact_mean) + std::fabs(out.v - exact_mean) + own;
  return finish(m, out);
}

}  // namespace assay::detail
