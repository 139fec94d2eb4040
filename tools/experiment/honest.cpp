#include "tools/experiment/honest.hpp"

#include <algorithm>
#include <cmath>

#include "reference/core/profile.hpp"
#include "tools/experiment/ops.hpp"

namespace assay::experiment {

namespace {

/// Inputs by profile. NaN and infinities are the subject of claims of their own; softmax alone takes -inf.
bool fits(Profile p, const Op& op) {
  if (p == Profile::nan_tail || p == Profile::specials) return false;
  return p != Profile::neg_inf || op.is("softmax");
}

/// All rows and columns shifted, far from 0 compared with their spread: where variances cancel.
void shift(Matrix<double>& x, double by, const Format& f) {
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) x(i, j) = round_to(f, x(i, j) + by);
}

Inputs draw(const Op& op, Profile p, Index rows, Index n, std::uint64_t seed, const Contract& c) {
  Inputs in;
  in.says = std::string(name(p)) + " n=" + std::to_string(n);
  in.x = fill(p, {rows, n}, seed, 0, c.in).matrix();
  const bool is_dot = op.is("dot");
  in.w = fill(is_dot ? p : Profile::normal, {is_dot ? 8 : 1, n}, seed, 1, c.in).matrix();
  in.b = fill(Profile::normal, {1, n}, seed, 2, c.in).matrix();
  // Heavy tails leave fp16's range; infinities are the subject of other claims.
  for (Matrix<double>* m : {&in.x, &in.w})
    for (Index i = 0; i < m->rows(); ++i)
      for (Index j = 0; j < m->cols(); ++j)
        if (std::isinf((*m)(i, j)) && !op.is("softmax")) (*m)(i, j) = 1;
  return in;
}

double observed(float kernel, const Format& f, const Contract& c, Planted bug) {
  if (bug == Planted::out_truncated) return round_to(f, kernel, Round::toward_zero);
  if (bug == Planted::out_twice && f.p() < 24)
    return round_to(
        f, round_to(f.p() == 11 ? Format{"13 bit", 22, 1, 8, 12, 127, Specials::ieee, Overflow::infinity_or_nan, 0, 13}
                                : formats::fp16,
                    kernel));
  return round_to(f, kernel, c.out_round);
}

}  // namespace

Judged judge_row(const Row& row, const Contract& c, Planted bug, double z, Tally* t, const std::string& says) {
  Judged j;
  std::vector<double> o;
  for (std::size_t i = 0; i < row.y.size(); ++i) {
    const Bound& y = row.y[i];
    o.push_back(observed(row.kernel[i], *row.format, c, bug));
    const Verdict v = judge(y, o.back(), *row.format, row.format == c.out ? c.out_round : Round::nearest_even, z);
    j.element = j.element && v.accepted;
    if (v.distance > 0) j.largest = std::max(j.largest, v.distance / v.allowed);
    if (!t) continue;
    ++t->elements;
    ++t->bins[static_cast<std::size_t>(std::min(63.0, v.z * 4))];
    if (std::isfinite(y.v) && std::sqrt(y.variance()) > ulp(*row.format, y.v)) {
      ++t->rounding;
      t->squares += v.z * v.z;
    }
    if (v.distance > 0) t->max_of_w = std::max(t->max_of_w, v.distance / y.w);
    const bool farthest = v.z > t->max_z;
    t->max_z = std::max(t->max_z, v.z);
    t->rejected += !v.accepted;
    if (v.accepted && !farthest) continue;
    const std::string told =
        (t->op + " " + t->contract + ": " + says + " element " + std::to_string(i) + " y=" + std::to_string(y.v) +
         " o=" + std::to_string(o.back()) + " distance=" + std::to_string(v.distance / std::fabs(y.v) * 0x1p24) +
         "u allowed=" + std::to_string(v.allowed / std::fabs(y.v) * 0x1p24) + "u z=" + std::to_string(v.z) +
         " w=" + std::to_string(y.w / std::fabs(y.v) * 0x1p24) + "u");
    if (farthest) t->farthest = told;
    if (!v.accepted && t->failures.size() < 5) t->failures.push_back(told);
  }
  const Aggregate a = judge_aggregate(row.y.data(), o.data(), static_cast<Index>(o.size()), *row.format,
                                      row.format == c.out ? c.out_round : Round::nearest_even, z);
  j.aggregate = a.accepted;
  if (t) {
    ++t->rows;
    t->rows_rejected += !a.accepted;
    if (a.gain_allowed > 0 && std::fabs(a.gain) / a.gain_allowed > t->max_gain) {
      t->max_gain = std::fabs(a.gain) / a.gain_allowed;
      t->largest_gain = t->op + " " + t->contract + ": " + says;
    }
    if (a.elements > 0) t->max_spread = std::max(t->max_spread, a.spread / a.spread_allowed);
    if (!a.accepted && t->failures.size() < 5)
      t->failures.push_back(t->op + " " + t->contract + ": " + says + " aggregate: gain " +
                            std::to_string(a.gain / a.gain_allowed) + ", spread " +
                            std::to_string(a.spread / a.spread_allowed) + " of the limit");
  }
  return j;
}

Tally& tally_of(std::vector<Tally>& all, const std::string& op, const std::string& contract) {
  for (Tally& t : all)
    if (t.op == op && t.contract == contract) return t;
  all.emplace_back();
  all.back().op = op;
  all.back().contract = contract;
  return all.back();
}

namespace {

Kill& kill_of(std::vector<Kill>& all, const std::string& op, const std::string& contract, Planted bug) {
  for (Kill& k : all)
    if (k.op == op && k.contract == contract && k.bug == name(bug)) return k;
  all.push_back({op, contract, name(bug), 0, 0, 0, 0});
  return all.back();
}

/// Every schedule on one set of inputs, each under the order class it belongs to.
void run_inputs(const Op& op, const std::string& contract, const Inputs& in, Random& random, double z, Results& r) {
  for (const Order order : {Order::contiguous, Order::oblivious, Order::any}) {
    Contract c = parse_contract(contract);
    c.order = order;
    ReadingScope scope({&c, false, z});
    std::vector<std::vector<Row>> rows = op.definition(in, c);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (int k = 0; k < kSchedules; ++k) {
        const auto schedule = static_cast<Schedule>(k);
        if (class_of(schedule) != order) continue;
        const Style style = draw_style(schedule, random);
        op.kernel(in, static_cast<Index>(i), c, style, random, Planted::none, rows[i]);
        for (const Row& row : rows[i])
          judge_row(row, c, Planted::none, z, &tally_of(r.honest, row.output, contract),
                    in.says + " " + name(schedule) + " exp=" + std::to_string(style.exp) +
                        " online=" + std::to_string(style.online) + " variance=" + std::to_string(style.variance) +
                        " rsqrt=" + std::to_string(style.rsqrt) + " row " + std::to_string(i));
      }
      if (order != Order::oblivious || i > 0) continue;
      for (const Planted bug : op.bugs) {
        const Style style = draw_style(Schedule::lanes8, random);
        op.kernel(in, static_cast<Index>(i), c, style, random, bug, rows[i]);
        for (const Row& row : rows[i]) {
          const Judged j = judge_row(row, c, bug, z, nullptr, "");
          Kill& kill = kill_of(r.planted, row.output, contract, bug);
          ++kill.rows;
          kill.by_element += !j.element;
          kill.by_aggregate += !j.aggregate;
          kill.largest = std::max(kill.largest, j.largest);
        }
      }
    }
  }
}

}  // namespace

void Tally::add(const Tally& o) {
  elements += o.elements;
  rows += o.rows;
  rejected += o.rejected;
  rows_rejected += o.rows_rejected;
  for (std::size_t i = 0; i < bins.size(); ++i) bins[i] += o.bins[i];
  max_z = std::max(max_z, o.max_z);
  squares += o.squares;
  rounding += o.rounding;
  max_of_w = std::max(max_of_w, o.max_of_w);
  max_gain = std::max(max_gain, o.max_gain);
  max_spread = std::max(max_spread, o.max_spread);
  failures.insert(failures.end(), o.failures.begin(), o.failures.end());
}

std::vector<Outside> run_outside(double z) {
  std::vector<Outside> all;
  const Op& softmax = *std::find_if(ops().begin(), ops().end(), [](const Op& op) { return op.is("softmax"); });
  const Contract c = parse_contract("fp32");
  ReadingScope scope({&c, false, z});
  Random random(1);
  for (const double step : {0x1p-3, 0x1p-6, 0x1p-10}) {
    Inputs in;
    in.x = Matrix<double>(1, 4096);
    for (Index j = 0; j < 4096; ++j) in.x(0, j) = step * static_cast<double>(j);
    std::vector<std::vector<Row>> rows = softmax.definition(in, c);
    for (const int tile : {1, 16, 64, 256})
      for (const int form : {0, 2}) {
        Style style;
        style.online = tile;
        style.exp = form;
        softmax.kernel(in, 0, c, style, random, Planted::none, rows[0]);
        all.push_back({tile, form, step, judge_row(rows[0][0], c, Planted::none, z, nullptr, "").largest});
      }
  }
  return all;
}

Results run_honest(double effort, std::uint64_t seed, double z, const std::string& only) {
  Results r;
  Random random(seed);
  constexpr Index lengths[] = {1, 2, 7, 33, 128, 513, 1024, 4096};
  for (const Op& op : ops()) {
    if (!only.empty() && !op.is(only)) continue;
    const bool is_dot = op.is("dot");
    for (const std::string contract : op.contracts) {
      for (const Profile p : all_profiles()) {
        if (!fits(p, op)) continue;
        for (const Index n : lengths) {
          // About as many elements at every length, at least one row.
          const double wanted =
              effort * (is_dot ? 4000.0 / static_cast<double>(8 * (n + 30)) : 200.0 / static_cast<double>(n));
          Index rows = static_cast<Index>(wanted);
          if (static_cast<double>(random.below(1000000)) < (wanted - static_cast<double>(rows)) * 1e6) ++rows;
          if (rows == 0) continue;
          rows = std::min<Index>(rows, 256);
          const Contract c = parse_contract(contract);
          Inputs in = draw(op, p, rows, n, random.bits(), c);
          run_inputs(op, contract, in, random, z, r);
          if (!op.is("layer_norm") || p != Profile::normal) continue;
          const Inputs centred = in;
          for (const double by : {0.25, 1.0, c.in->p() == 24 ? 1000.0 : 50.0}) {
            in.x = Tensor<double>(centred.x).clone().matrix();
            shift(in.x, by, *c.in);
            in.says = "shifted " + centred.says;
            run_inputs(op, contract, in, random, z, r);
          }
        }
      }
    }
  }
  return r;
}

}  // namespace assay::experiment
