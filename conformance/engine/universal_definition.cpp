#include <algorithm>
#include <cmath>

#include "conformance/engine/claim.hpp"
#include "conformance/engine/decisions.hpp"

// The universal claims on definitions: what every op's definition has to fulfil in its readings.
namespace assay {
namespace {

bool has_rows(const OpSpec& op, const std::vector<TensorSpec>& specs, const std::string& name) {
  return std::any_of(specs.begin(), specs.end(),
                     [&](const TensorSpec& s) { return s.name == name && !s.shape.empty() && s.shape[0] == op.rows; });
}

void require_rows(Check& check, Index at_least) {
  const std::string& rows = check.c.space().op().rows;
  if (rows.empty()) throw NotOffered{"rows: the op has none"};
  if (check.c[rows] < at_least) check.with(rows, at_least);
}

/// The call of the rows [first, last).
Call rows_of(const Call& call, Index first, Index last) {
  Call part = call;
  for (const Named& t : call.inputs.all()) {
    if (!has_rows(*call.op, call.op->inputs, t.name)) continue;
    Shape shape = t.value.shape();
    shape[0] = last - first;
    const Tensor<double> rows(t.value.storage(), t.value.data() + first * t.value.strides()[0], shape,
                              t.value.strides());
    part.set(t.name, rows.clone());
  }
  return part;
}

/// The call with its rows repeated.
Call repeated(const Call& call, Index times) {
  Call many = call;
  for (const Named& t : call.inputs.all()) {
    if (!has_rows(*call.op, call.op->inputs, t.name)) continue;
    Shape shape = t.value.shape();
    shape[0] *= times;
    const Tensor<double> rows(shape);
    for (Index i = 0, n = t.value.size(); i < n * times; ++i) rows.data()[i] = t.value.at_flat(i % n);
    many.set(t.name, rows);
  }
  return many;
}

/// |x - y| in the precision of Wide; 0 where both are NaN or the same infinity, infinity where only one is.
double distance(const Wide& x, const Wide& y) {
  if (std::isnan(x.hi) || std::isnan(y.hi)) return std::isnan(x.hi) && std::isnan(y.hi) ? 0 : infinity;
  if (std::isinf(x.hi) || std::isinf(y.hi)) return x.hi == y.hi ? 0 : infinity;
  const Wide d = x - y;
  return std::fabs(d.hi + d.lo);
}

/// What to look for where both formulas in Wide differ by about one rounding of double, which Wide has nowhere.
std::string hint(double difference, double size) {
  const bool one_rounding = difference > 0x1p-58 * size && difference < 0x1p-44 * size;
  return one_rounding ? ": the difference is that of a rounding in double; an operation of the definition, or of the "
                        "second opinion, is done in double instead of T"
                      : "";
}

/// Whether an input is so small that products of it leave the range where Wide has two words.
bool any_tiny(const Call& call) {
  for (const Named& t : call.inputs.all()) {
    for (Index i = 0, n = t.value.size(); i < n; ++i) {
      const double x = std::fabs(t.value.at_flat(i));
      if (x > 0 && x < 0x1p-400) return true;
    }
  }
  return false;
}

}  // namespace

// The definition in double is within its own worst case of the second opinion. In Wide both err by what their own
// arithmetic leaves: the worst case under fp64 counts roundings of 2^-53 (functions: 5 2^-53), where Wide has 2^-102
// (functions: 2^-98), a ratio of at most 2^-47; the other formula is granted 2^7 times as many operations, and 2^-90
// where double is exact. Where Wide underflows (below 2^-960) it has one word: an absolute 2^-1060, or, with tiny
// inputs that are scaled up again, the worst case of double.
CLAIM_ON_DEFINITION(universal.second_opinion) {
  const auto& all = second_opinions();
  const std::string& op = check.c.space().op().name;
  const auto opinion = std::find_if(all.begin(), all.end(), [&](const SecondOpinion& s) { return s.op == op; });
  if (opinion == all.end()) throw NotOffered{"a second opinion of op " + op};
  const Call call = check.call();
  const auto in_double = check.define<double>(call);
  // where scores are nearly equal more bits may decide otherwise: all follow the definition in double
  const Tensors decisions = decisions_among(*call.op, in_double);
  Eval<Wide> other(call);
  other.decisions = decisions;
  opinion->in_wide(other);
  const auto under = evaluate_under<Bound>(call, decisions);
  const auto wrong = inadmissible(under, decisions);
  check.require(!wrong, "the definition's own decision is admissible" + (wrong ? ": " + wrong->why : ""));
  const auto& in_bound = under.outputs;
  const auto in_wide = evaluate_under<Wide>(call, decisions).outputs;
  const bool tiny = any_tiny(call);
  check.nothing_to_compare();
  for (const auto& [name, opinions] : other.all()) {
    const auto at = in_double.find(name);
    if (at == in_double.end() || at->second.shape() != opinions.shape())
      check.fail({"the second opinion has an output that the definition has not, or of another shape", "output " + name,
                  at == in_double.end() ? "no such output" : to_string(at->second.shape()), to_string(opinions.shape()),
                  ""});
    const Tensor<Wide>& wide = in_wide.at(name);
    for (Index i = 0, n = opinions.size(); i < n; ++i) {
      const Bound& bound = in_bound.at(name).at_flat(i);
      const double y = at->second.at_flat(i);
      check.same_bits("output " + name + " in double and the value of Bound", y, bound.v);
      const Wide& expected = opinions.at_flat(i);
      const double size = std::isfinite(expected.hi) ? std::fabs(expected.hi) : 0;
      check.at_most("|definition in double - second opinion|, output " + name, distance(Wide(y), expected),
                    bound.w + 0x1p-90 * size);
      const double floor = tiny ? bound.w : 0x1p-1060;
      const double in_wides = distance(wide.at_flat(i), expected);
      check.at_most("|definition in Wide - second opinion|, output " + name + hint(in_wides, size), in_wides,
                    0x1p-40 * bound.w + 0x1p-90 * size + floor);
    }
  }
}

CLAIM_ON_DEFINITION(universal.flow) {
  require_rows(check, 2);
  const Call call = check.call();
  check.nothing_to_compare();
  for (const auto& [name, y] : check.define<Flow>(call)) {
    if (!has_rows(*call.op, call.op->outputs, name) || y.shape()[0] == 0) continue;
    const Index width = y.size() / y.shape()[0];
    for (Index i = 0, n = y.size(); i < n; ++i) {
      const std::uint64_t own = std::uint64_t{1} << (i / width);
      check.require((y.at_flat(i).tokens & ~own) == 0,
                    "row " + std::to_string(i / width) + " of output " + name + " depends on no other row's token");
    }
  }
}

CLAIM_ON_DEFINITION(universal.inputs_kept) {
  // In double a definition is given the call's own storage: what it writes there, whoever calls next reads.
  const Call call = check.call();
  Call given = call;
  for (const Named& t : call.inputs.all()) given.set(t.name, t.value.clone());
  check.define<double>(given);
  check.nothing_to_compare();
  for (const Named& t : call.inputs.all())
    check.same_bits("input " + t.name + " after the definition", given[t.name], t.value);
}

CLAIM_ON_DEFINITION(universal.same_bits_any_blocking) {
  require_rows(check, 2);
  // many rows: the definition is then evaluated in blocks, by several threads
  const std::string& symbol = check.c.space().op().rows;
  const Call call = repeated(check.call(), check.pick("many", 0, 7) == 0 ? 97 : 1);
  const Index rows = call.size(symbol), cut = check.pick("cut", 0, rows);
  const auto whole = check.define<double>(call);
  const auto first = check.define<double>(rows_of(call, 0, cut)),
             second = check.define<double>(rows_of(call, cut, rows));
  check.nothing_to_compare();
  for (const auto& [name, y] : whole) {
    if (!has_rows(*call.op, call.op->outputs, name)) continue;
    const Tensor<double>&a = first.at(name), &b = second.at(name);
    if (a.size() + b.size() != y.size())
      check.fail({"blocks of rows have other sizes than the whole", "output " + name, to_string(y.shape()),
                  to_string(a.shape()) + " and " + to_string(b.shape()), ""});
    for (Index i = 0, n = y.size(); i < n; ++i)
      check.same_bits("output " + name + ", whole and in blocks", i < a.size() ? a.at_flat(i) : b.at_flat(i - a.size()),
                      y.at_flat(i));
  }
}

}  // namespace assay
