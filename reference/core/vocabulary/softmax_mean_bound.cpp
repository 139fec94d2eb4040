// The words softmax_mean and mean_in_chunks for Bound: rows in parallel, each through the closed form.
#include <cmath>

#include "reference/core/parallel.hpp"
#include "reference/core/vocabulary/softmax_mean_column.hpp"

namespace assay::prim {

using namespace detail;

namespace {

constexpr double kInfinity = __builtin_huge_val();

Matrix<double> values_of(const Matrix<Bound>& x) {
  Matrix<double> y = Matrix<double>::uninitialised(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j) y(i, j) = x(i, j).v;
  return y;
}

bool have_errors(const Matrix<Bound>& x) {
  for (Index i = 0; i < x.rows(); ++i)
    for (Index j = 0; j < x.cols(); ++j)
      if (!errorless(x(i, j))) return true;
  return false;
}

/// Column c of v at the row's entries.
void gather(const BoundModel& m, const MeanRow& r, const Matrix<Bound>& v, Index c, bool errors, Column& y) {
  y.x.clear();
  y.errors = errors;
  for (const Index j : r.at) y.x.push_back(v(j, c).v);
  if (!errors) return;
  for (Numbers* part : {&y.s2, &y.b, &y.w, &y.allowed, &y.c}) part->clear();
  y.symbol.clear();
  for (const Index j : r.at) {
    const Bound& x = v(j, c);
    y.s2.push_back(x.s2);
    y.b.push_back(x.b);
    y.w.push_back(x.w);
    y.allowed.push_back(allowed(x, m.z));
    y.c.push_back(x.c);
    y.symbol.push_back(x.symbol);
  }
}

/// `exact`: the values under weights as they are.
void bound(const Passage& way, const Matrix<Bound>& s, const Matrix<Bound>& v, const Mask& keep,
           const Vector<Bound>& sink, const SoftmaxMean<double>& exact, SoftmaxMean<Bound>& y) {
  const Contract& contract = *bound_model().contract;
  const bool emulates = contract.p->p() < contract.acc->p(), errors = have_errors(v);
  const Reading at_caller = reading();
  parallel_for(s.rows(), 4, [&](Index first, Index last) {
    const ReadingScope scope(at_caller);
    const BoundModel& m = bound_model();
    thread_local MeanRow r;
    thread_local Column column;
    for (Index i = first; i < last; ++i) {
      const Bound g = sink.data() == nullptr ? Bound(-kInfinity) : sink[i];
      read_row(m, way, s, keep, i, g, r);
      const bool nothing = r.n == 0 || r.special;
      y.lse[i] = nothing ? Bound(exact.lse[i]) : lse_of(m, way, r, exact.lse[i]);
      std::optional<Stored> stored;
      if (emulates && !nothing) stored = emulate(m, way, r, g);
      for (Index c = 0; c < v.cols(); ++c) {
        y.o(i, c) = Bound(exact.o(i, c));
        if (nothing || g.v == kInfinity || g.v != g.v) continue;
        gather(m, r, v, c, errors, column);
        y.o(i, c) =
            stored ? mean_of(m, way, r, *stored, column, exact.o(i, c)) : mean_of(m, way, r, column, exact.o(i, c));
      }
    }
  });
}

SoftmaxMean<double> exact_mean(const Matrix<Bound>& s, const Matrix<Bound>& v, const Mask& keep,
                               const Vector<Bound>& sink) {
  SoftmaxMean<double> y{Vector<double>(s.rows()), Matrix<double>(s.rows(), v.cols())};
  Vector<double> g;
  if (sink.data() != nullptr) {
    g = Vector<double>(sink.size());
    for (Index i = 0; i < g.size(); ++i) g[i] = sink[i].v;
  }
  softmax_mean(values_of(s), values_of(v), keep, g, nullptr, y);
  return y;
}

}  // namespace

void softmax_mean(const Matrix<Bound>& s, const Matrix<Bound>& v, const Mask& keep, const Vector<Bound>& sink,
                  SoftmaxMean<Bound>& y) {
  bound(passage(*bound_model().contract, s.cols()), s, v, keep, sink, exact_mean(s, v, keep, sink), y);
}

SoftmaxMean<Bound> mean_in_chunks(const SoftmaxMean<Bound>& y, const Matrix<Bound>& s, const Matrix<Bound>& v,
                                  Index chunk, double slack) {
  Passage way;
  way.tile = chunk;
  way.steps = (s.cols() + chunk - 1) / chunk;
  way.several = way.steps > 1;
  way.in_order = true;
  way.slack = slack;
  const Contract& c = *bound_model().contract;
  SoftmaxMean<double> exact;
  if (c.p->p() < c.acc->p()) {  // y holds what its rounding sites made of it
    exact = exact_mean(s, v, Mask(), Vector<Bound>());
  } else {
    exact = {Vector<double>(s.rows()), values_of(y.o)};
    for (Index i = 0; i < s.rows(); ++i) exact.lse[i] = y.lse[i].v;
  }
  SoftmaxMean<Bound> z{Vector<Bound>(s.rows()), Matrix<Bound>(s.rows(), v.cols())};
  bound(way, s, v, Mask(), Vector<Bound>(), exact, z);
  return z;
}

}  // namespace assay::prim
