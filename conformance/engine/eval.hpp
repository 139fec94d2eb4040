#pragma once
#include <map>
#include <string>
#include <string_view>

#include "conformance/engine/call.hpp"
#include "reference/core/vocabulary.hpp"

namespace assay {

// What every claim holds: compiled once, in eval.cpp.
extern template class Tensor<double>;
extern template class Tensor<Bound>;

/// A call as its definition reads it in reading T: inputs lifted to T, outputs collected.
/// In Flow row i of an input depends on token i, unless the input has none of the op's rows (weights); in Dual inputs
/// named in `directions` move along them.
template <class T>
class Eval {
 public:
  explicit Eval(const Call& of) : call(of) {}
  const Call& call;
  Tensors directions;
  Tensors decisions;  // of a target, under which this is evaluated; none: the definition's own

  bool has(std::string_view input) const { return call.inputs.has(input); }
  Matrix<T> matrix(std::string_view input) const;
  Vector<T> vector(std::string_view input) const;
  /// Of any rank; in Flow what has the same first index is of one token.
  Tensor<T> tensor(std::string_view input) const;
  /// The input, or n times a value where the call has no such input.
  Vector<T> vector_or(std::string_view input, Index n, double otherwise) const;
  /// A boolean input, or the mask that keeps everything.
  Mask mask(std::string_view input) const;
  /// The same of any rank; Tensor() where the call has no such input.
  Tensor<unsigned char> mask_tensor(std::string_view input) const;
  /// An input of integers that mean places, lengths or rows; any rank.
  Tensor<Index> index_tensor(std::string_view input) const;
  /// The op's options: `e.template options<SoftmaxOptions>()`.
  template <class Options>
  Options options() const {
    return Options::from(call.options);
  }

  void out(std::string_view name, const Tensor<T>& value);
  void out(std::string_view name, const Matrix<T>& value);  // out of line, as Vector's: compiled once, not per concept
  void out(std::string_view name, const Vector<T>& value);
  /// A decision: the k largest scores of each row, scores [rows, n] -> indices [rows, k], which are at the same time
  /// the output `name` that the page marks `decision: top_k`. Under a target's decisions it is the target's choice;
  /// whether the scores allow it is for the judge to say, who also refuses a row that is no choice at all: the
  /// definition's own stands in for it here. Flow shows in the output what was looked at to choose.
  Matrix<Index> top_k(const std::string& name, const Matrix<T>& scores, Index k);
  const Tensor<T>& operator[](const std::string& name) const;
  const std::map<std::string, Tensor<T>>& all() const { return outputs_; }
  /// What each decision was made of: [rows, n] by the output's name.
  const std::map<std::string, Tensor<T>>& scores() const { return scores_; }

 private:
  std::map<std::string, Tensor<T>> outputs_, scores_;
};

/// An op's definition in every reading. A concept file writes
///   template <class T> void softmax_op(Eval<T>& e) { ... }
///   DEFINITION(softmax.safe, softmax, softmax_op)
struct Definition {
  std::string op, concept_id;
  void (*in_double)(Eval<double>&);
  void (*in_bound)(Eval<Bound>&);
  void (*in_dual)(Eval<Dual>&);
  void (*in_flow)(Eval<Flow>&);
  void (*in_count)(Eval<Count>&);
  void (*in_wide)(Eval<Wide>&);
};

const std::vector<Definition>& definitions();
/// Throws Error if no definition is registered for the op.
const Definition& definition_of(std::string_view op);
bool has_definition(std::string_view op);

/// An op's second opinion: the same outputs by another formula, in Wide, sharing no code with the definition.
struct SecondOpinion {
  std::string op;
  void (*in_wide)(Eval<Wide>&);
};
const std::vector<SecondOpinion>& second_opinions();

template <class T>
struct Evaluation {
  std::map<std::string, Tensor<T>> outputs;
  std::map<std::string, Tensor<T>> scores;  // of decisions, by output
};
/// evaluate under a target's decisions: outputs that the page marks so (conformance/engine/decisions.hpp). The
/// definition decides itself what they do not have.
template <class T>
Evaluation<T> evaluate_under(const Call& call, const Tensors& decisions, const Tensors& directions = {});

/// Evaluates the definition of the call's op in row blocks, in parallel; what it returns does not depend on either.
template <class T>
std::map<std::string, Tensor<T>> evaluate(const Call& call, const Tensors& directions = {});

struct RegisterDefinition {
  explicit RegisterDefinition(const Definition& d);
};
struct RegisterSecondOpinion {
  explicit RegisterSecondOpinion(const SecondOpinion& s);
};

#define DEFINITION(concept_id, op, function)                                                     \
  static const ::assay::RegisterDefinition assay_definition_##op(                                \
      {#op, #concept_id, &function<double>, &function<::assay::Bound>, &function<::assay::Dual>, \
       &function<::assay::Flow>, &function<::assay::Count>, &function<::assay::Wide>});
#define SECOND_OPINION(op)                                                                           \
  static void assay_second_##op(::assay::Eval<::assay::Wide>& e);                                    \
  static const ::assay::RegisterSecondOpinion assay_register_second_##op({#op, &assay_second_##op}); \
  static void assay_second_##op(::assay::Eval<::assay::Wide>& e)

}  // namespace assay
