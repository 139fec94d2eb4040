#include "reference/softmax/merge.hpp"

#include <cmath>

#include "conformance/engine/claim.hpp"
#include "reference/softmax/online.hpp"

// Claims of spec/softmax/merge.md.
namespace assay {
namespace {

template <class T>
void merge_states_op(Eval<T>& e) {
  const Matrix<T> o1 = e.matrix("o1"), o2 = e.matrix("o2");
  if (e.template options<MergeStatesOptions>().form == MergeStatesOptions::Form::lse) {
    const SoftmaxMean<T> r = softmax_merge<T>({e.vector("lse1"), o1}, {e.vector("lse2"), o2});
    e.out("lse", at(Site::statistic, r.lse));
    e.out("o", at(Site::output, r.o));
    return;
  }
  const SoftmaxState<T> r =
      softmax_merge<T>({e.vector("m1"), e.vector("l1"), o1}, {e.vector("m2"), e.vector("l2"), o2});
  e.out("m", r.m);
  e.out("l", at(Site::statistic, r.l));
  e.out("o", at(Site::output, r.o));
}

// ---- helpers
// -----------------------------------------------------------------------------------------------------------------

bool is_state(const Call& call) { return call.option("form") == 1; }

/// Makes part 1 or 2 of a row the empty state.
void clear(Call& call, char part, Index t) {
  const auto fill = [&](const char* name, double value) {
    const Tensor<double> x = call[std::string(name) + part].clone();
    const Index width = x.rank() == 1 ? 1 : x.shape()[1];
    for (Index c = 0; c < width; ++c) x.data()[t * width + c] = value;
    call.set(std::string(name) + part, x);
  };
  fill(is_state(call) ? "m" : "lse", -infinity);
  if (is_state(call)) fill("l", 0);
  fill("o", 0);
}

/// States as they occur: l > 0, and by axis `empty` some that have met no entry (1 the first part, 2 the second, 3 both
/// in every other row).
Call states(const Check& check) {
  Call call = check.call();
  for (const char* name : {"l1", "l2"}) {
    if (!call.inputs.has(name)) continue;
    const Tensor<double> l = call[name].clone();
    for (Index i = 0, n = l.size(); i < n; ++i) l.data()[i] = l.data()[i] == 0 ? 1 : std::fabs(l.data()[i]);
    call.set(name, l);
  }
  const std::int64_t empty = check.c["empty"];
  for (Index t = 0; t < call.size("T"); ++t) {
    if (empty == 1 || (empty == 3 && t % 2 == 0)) clear(call, '1', t);
    if (empty == 2 || (empty == 3 && t % 2 == 0)) clear(call, '2', t);
  }
  return call;
}

}  // namespace

DEFINITION(softmax.merge, merge_states, merge_states_op)

CLAIM(softmax.merge.accuracy) {
  const Call call = states(check);
  check.accurate(call, check.run(call));
}

CLAIM(softmax.merge.commutative) {
  const Call call = states(check);
  Call swapped = call;
  for (const char* name : {"m", "l", "lse", "o"}) {
    const std::string first = std::string(name) + "1", second = std::string(name) + "2";
    if (!call.inputs.has(first)) continue;
    swapped.set(first, call[second]);
    swapped.set(second, call[first]);
  }
  const Tensors left = check.run(call), right = check.run(swapped);
  for (const Named& t : left.all()) check.same_bits(t.name + " of merge(b, a)", right[t.name], t.value);
}

CLAIM(softmax.merge.identity) {
  const bool first = check.pick("part", 0, 1) == 0;
  Call call = states(check);
  for (Index t = 0; t < call.size("T"); ++t) clear(call, first ? '1' : '2', t);
  const Tensors out = check.run(call);
  for (const Named& t : out.all()) {
    const Tensor<double>& kept = call[t.name + (first ? "2" : "1")];
    check.nothing_to_compare();
    for (Index i = 0, n = t.value.size(); i < n; ++i)  // + 0.0: 0 times a value of the empty part may add +0 to -0
      check.same_bits(t.name + " merged with nothing", t.value.at_flat(i) + 0.0,
                      round_to(*t.format, kept.at_flat(i), call.contract.out_round) + 0.0);
  }
}

CLAIM(softmax.merge.no_nan) {
  Call call = states(check);
  for (Index t = 0; t < call.size("T"); ++t) {
    clear(call, '1', t);
    clear(call, '2', t);
  }
  const Tensors out = check.run(call);
  check.nothing_to_compare();
  for (const Named& t : out.all()) {
    for (Index i = 0, n = t.value.size(); i < n; ++i)
      check.same_bits(t.name + " of two empty states", t.value.at_flat(i),
                      t.name == "m" || t.name == "lse" ? -infinity : 0.0);
  }
}

CLAIM(softmax.merge.of_parts) {
  // logits and values from the case's profile: a row is cut in two, computed apart and merged
  const Matrix<Bound> o1 = check.with("form", "lse").matrix<Bound>("o1"), o2 = check.matrix<Bound>("o2");
  const Matrix<Bound> x = concat_cols(o1, as_col(check.vector<Bound>("lse1")));
  const Matrix<Bound> v = transpose(concat_rows(concat_cols(o2, as_col(check.vector<Bound>("lse2"))), x));
  const Index n = x.cols(), cut = check.pick("cut", 0, n);
  OnlineSoftmaxOptions opt;
  const auto part = [&](Index from, Index to) {
    return online_softmax(x.col_range(from, to), v.row_range(from, to), opt);
  };
  const SoftmaxMean<Bound> merged = softmax_merge(part(0, cut), part(cut, n)), whole = part(0, n);
  check.agree("o of the parts", merged.o, whole.o);
  check.agree("LSE of the parts", merged.lse, whole.lse);
  const auto state = [&](Index from, Index to) {
    return softmax_step(softmax_nothing<Bound>(x.rows(), v.cols()), x.col_range(from, to), v.row_range(from, to), 0);
  };
  const SoftmaxMean<Bound> joined = softmax_finish(softmax_merge(state(0, cut), state(cut, n)));
  check.agree("o of the parts' states", joined.o, whole.o);
  check.agree("LSE of the parts' states", joined.lse, whole.lse);
}

}  // namespace assay
