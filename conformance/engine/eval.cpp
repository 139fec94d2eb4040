#include "conformance/engine/eval.hpp"

#include <algorithm>
#include <mutex>

#include "conformance/engine/decisions.hpp"
#include "reference/core/choice.hpp"
#include "reference/core/parallel.hpp"

namespace assay {
namespace {

std::vector<Definition>& definition_list() {
  static std::vector<Definition> list;
  return list;
}
std::vector<SecondOpinion>& opinion_list() {
  static std::vector<SecondOpinion> list;
  return list;
}

/// Row of a value that belongs to no token: of a weight.
constexpr Index shared = -1;

template <class T>
T lift(double x, Index) {
  return T(x);
}
template <>
Flow lift<Flow>(double x, Index row) {
  if (row == shared) return {x, 0};
  if (row >= 64) throw Error("Flow follows at most 64 tokens", "row < 64", std::to_string(row));
  return {x, std::uint64_t{1} << row};
}

template <class T>
T lift_along(double x, double, Index row) {
  return lift<T>(x, row);
}
template <>
Dual lift_along<Dual>(double x, double d, Index) {
  return {Bound(x), Bound(d)};
}

/// Whether the rows of an input are tokens: those of the op, where it has rows.
bool has_tokens(const OpSpec& op, std::string_view input) {
  if (op.rows.empty()) return true;
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [&](const TensorSpec& s) { return s.name == input && !s.shape.empty() && s.shape[0] == op.rows; });
}

/// The rows [first, last) of a call: every tensor that has the op's row symbol first is cut, the others stay whole.
Tensors cut(const Tensors& tensors, const OpSpec& op, Index first, Index last) {
  Tensors part = tensors;
  const auto by_rows = [&op](const std::vector<TensorSpec>& specs, const std::string& name) {
    return std::any_of(specs.begin(), specs.end(), [&](const TensorSpec& s) {
      return s.name == name && !s.shape.empty() && s.shape[0] == op.rows;
    });
  };
  for (Named& t : part.all()) {
    if (!by_rows(op.inputs, t.name) && !by_rows(op.outputs, t.name)) continue;
    Shape shape = t.value.shape();
    shape[0] = last - first;
    double* const at = t.value.data() + first * t.value.strides()[0];
    t.value = Tensor<double>(t.value.storage(), at, std::move(shape), t.value.strides());
  }
  return part;
}

template <class T>
void run(const Definition& d, Eval<T>& e) {
  if constexpr (std::is_same_v<T, double>) d.in_double(e);
  if constexpr (std::is_same_v<T, Bound>) d.in_bound(e);
  if constexpr (std::is_same_v<T, Dual>) d.in_dual(e);
  if constexpr (std::is_same_v<T, Flow>) d.in_flow(e);
  if constexpr (std::is_same_v<T, Count>) d.in_count(e);
  if constexpr (std::is_same_v<T, Wide>) d.in_wide(e);
}

/// Throws Error unless a definition has made every output of its page, in the page's shape.
template <class T>
void require_outputs(const Eval<T>& e) {
  for (const TensorSpec& spec : e.call.op->outputs)
    if (exists(spec, *e.call.op, e.call.options))
      require_shape(spec.name.c_str(), e[spec.name].shape(), shape_of(spec, e.call));
}

/// About this many elements per block: a block's intermediates stay in the cache.
constexpr Index block_elements = 24576;

}  // namespace

template <class T>
Matrix<T> Eval<T>::matrix(std::string_view input) const {
  Matrix<double> x = call[input].matrix();
  const bool moves = directions.has(input);
  if constexpr (std::is_same_v<T, double>) return x;
  const bool tokens = has_tokens(*call.op, input);
  Matrix<T> z = Matrix<T>::uninitialised(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    const Index row = tokens ? i : shared;
    for (Index j = 0; j < x.cols(); ++j)
      z(i, j) = moves ? lift_along<T>(x(i, j), directions[input].matrix()(i, j), row) : lift<T>(x(i, j), row);
  }
  return z;
}

template <class T>
Vector<T> Eval<T>::vector(std::string_view input) const {
  Vector<double> x = call[input].vector();
  if constexpr (std::is_same_v<T, double>) return x;
  const bool moves = directions.has(input);
  const bool tokens = has_tokens(*call.op, input);
  Vector<T> z(x.size());
  for (Index i = 0; i < x.size(); ++i) {
    const Index row = tokens ? i : shared;
    z[i] = moves ? lift_along<T>(x[i], directions[input].vector()[i], row) : lift<T>(x[i], row);
  }
  return z;
}

template <class T>
Tensor<T> Eval<T>::tensor(std::string_view input) const {
  const Tensor<double>& x = call[input];
  if constexpr (std::is_same_v<T, double>) return x;
  const bool moves = directions.has(input), tokens = has_tokens(*call.op, input);
  const Tensor<T> z = Tensor<T>::uninitialised(x.shape());
  const Index n = x.size(), of_row = x.rank() == 0 || n == 0 ? 1 : n / x.shape()[0];
  for (Index i = 0; i < n; ++i) {
    const Index row = tokens ? i / of_row : shared;
    z.data()[i] = moves ? lift_along<T>(x.at_flat(i), directions[input].at_flat(i), row) : lift<T>(x.at_flat(i), row);
  }
  return z;
}

template <class T>
Vector<T> Eval<T>::vector_or(std::string_view input, Index n, double otherwise) const {
  return has(input) ? vector(input) : Vector<T>(n, T(otherwise));
}

template <class T>
Mask Eval<T>::mask(std::string_view input) const {
  if (!has(input)) return {};
  const Matrix<double> x = call[input].matrix();
  Mask keep(x.rows(), x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index j = 0; j < x.cols(); ++j) keep(i, j) = x(i, j) != 0;
  }
  return keep;
}

template <class T>
Tensor<unsigned char> Eval<T>::mask_tensor(std::string_view input) const {
  if (!has(input)) return {};
  const Tensor<double>& x = call[input];
  const Tensor<unsigned char> keep(x.shape());
  for (Index i = 0, n = x.size(); i < n; ++i) keep.data()[i] = x.at_flat(i) != 0;
  return keep;
}

template <class T>
Tensor<Index> Eval<T>::index_tensor(std::string_view input) const {
  const Tensor<double>& x = call[input];
  const Tensor<Index> y(x.shape());
  for (Index i = 0, n = x.size(); i < n; ++i) y.data()[i] = static_cast<Index>(x.at_flat(i));
  return y;
}

template <class T>
void Eval<T>::out(std::string_view name, const Tensor<T>& value) {
  outputs_[std::string(name)] = value;
}
template <class T>
void Eval<T>::out(std::string_view name, const Matrix<T>& value) {
  outputs_[std::string(name)] = value;
}
template <class T>
void Eval<T>::out(std::string_view name, const Vector<T>& value) {
  outputs_[std::string(name)] = value;
}

template <class T>
Matrix<Index> Eval<T>::top_k(const std::string& name, const Matrix<T>& scores, Index k) {
  require_decision(*call.op, name);
  const Matrix<double> seen = values(scores);
  const Index rows = scores.rows(), n = scores.cols();
  const bool given = decisions.has(name) && decisions[name].shape() == Shape{rows, k};
  Matrix<Index> chosen(rows, k);
  Matrix<T> result(rows, k);
  for (Index t = 0; t < rows; ++t) {
    std::vector<Index> row;
    if (given) row = choice_in_row(decisions[name].matrix().row(t), n);
    if (static_cast<Index>(row.size()) != k) row = assay::top_k(seen.row(t), k);
    T origin{0};  // of Flow: every score of the row was looked at
    if constexpr (std::is_same_v<T, Flow>) {
      for (Index j = 0; j < n; ++j) origin.tokens |= scores(t, j).tokens;
    }
    for (Index i = 0; i < k; ++i) {
      chosen(t, i) = row[static_cast<std::size_t>(i)];
      result(t, i) = T(static_cast<double>(chosen(t, i)));
      if constexpr (std::is_same_v<T, Flow>) result(t, i).tokens = origin.tokens;
    }
  }
  out(name, result);
  scores_[name] = scores;
  return chosen;
}

template <class T>
const Tensor<T>& Eval<T>::operator[](const std::string& name) const {
  const auto at = outputs_.find(name);
  if (at == outputs_.end())
    throw Error("the definition of " + call.op->name + " has no such output", "an output of the page", name);
  return at->second;
}

const std::vector<Definition>& definitions() { return definition_list(); }
const std::vector<SecondOpinion>& second_opinions() { return opinion_list(); }

const Definition& definition_of(std::string_view op) {
  for (const Definition& d : definition_list()) {
    if (d.op == op) return d;
  }
  throw Error("no definition is registered for this op", "an op with a definition", std::string(op));
}
bool has_definition(std::string_view op) {
  return std::any_of(definition_list().begin(), definition_list().end(),
                     [op](const Definition& d) { return d.op == op; });
}

RegisterDefinition::RegisterDefinition(const Definition& d) { definition_list().push_back(d); }
RegisterSecondOpinion::RegisterSecondOpinion(const SecondOpinion& s) { opinion_list().push_back(s); }

template <class T>
Evaluation<T> evaluate_under(const Call& call, const Tensors& decisions, const Tensors& directions) {
  const Definition& definition = definition_of(call.op->name);
  const OpSpec& op = *call.op;
  const bool by_rows = !op.rows.empty() && !std::is_same_v<T, Flow> && !std::is_same_v<T, Count>;
  const Index rows = by_rows ? call.size(op.rows) : 0;
  Index widest = 1;
  for (const Named& t : call.inputs.all()) widest = std::max(widest, rows > 0 ? t.value.size() / rows : 1);
  const Index grain = std::max<Index>(1, block_elements / widest);
  if (!by_rows || rows <= grain) {
    Eval<T> e(call);
    e.directions = directions;
    e.decisions = decisions;
    run(definition, e);
    require_outputs(e);
    return {e.all(), e.scores()};
  }

  Evaluation<T> whole;
  for (const TensorSpec& spec : op.outputs)
    if (exists(spec, op, call.options)) whole.outputs[spec.name] = Tensor<T>::uninitialised(shape_of(spec, call));
  std::mutex mutex;
  const Reading at_caller = reading();
  const Index threads = thread_count(), blocks = (rows / grain + threads) / threads * threads;  // even work for all
  parallel_for(blocks, 1, [&](Index block, Index) {
    const Index first = block * rows / blocks, last = (block + 1) * rows / blocks;
    if (first == last) return;
    const ReadingScope scope(at_caller);
    const Call part{call.op, call.contract, call.options, cut(call.inputs, op, first, last)};
    Eval<T> e(part);
    if (!directions.all().empty()) e.directions = cut(directions, op, first, last);
    if (!decisions.all().empty()) e.decisions = cut(decisions, op, first, last);
    run(definition, e);
    const auto put = [&](const std::string& name, const Tensor<T>& value, const Tensor<T>& out) {
      Shape expected = out.shape();
      expected[0] = last - first;
      require_shape(name.c_str(), value.shape(), expected);
      value.copy_to(out.data() + first * (out.size() / rows));
    };
    for (const auto& out : whole.outputs) put(out.first, e[out.first], out.second);
    for (const auto& score : e.scores()) {
      Tensor<T> out;
      {
        const std::lock_guard lock(mutex);
        Tensor<T>& slot = whole.scores[score.first];
        Shape shape = score.second.shape();
        shape[0] = rows;
        if (slot.data() == nullptr) slot = Tensor<T>::uninitialised(shape);
        out = slot;
      }
      put(score.first, score.second, out);
    }
  });
  return whole;
}

template <class T>
std::map<std::string, Tensor<T>> evaluate(const Call& call, const Tensors& directions) {
  return evaluate_under<T>(call, {}, directions).outputs;
}

template class Tensor<double>;
template class Tensor<Bound>;

#define ASSAY_EVAL(T)                                                                    \
  template class Eval<T>;                                                                \
  template Evaluation<T> evaluate_under<T>(const Call&, const Tensors&, const Tensors&); \
  template std::map<std::string, Tensor<T>> evaluate<T>(const Call&, const Tensors&);
ASSAY_READINGS(ASSAY_EVAL)

}  // namespace assay
