#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "conformance/engine/call.hpp"
#include "conformance/engine/case.hpp"
#include "conformance/engine/eval.hpp"
#include "conformance/engine/target.hpp"

// What a claim file includes. A claim is one sentence of a page and a property that runs:
//   CLAIM(softmax.safe.single) { ... check ... }
namespace assay {

/// Why a property does not hold, in the order a person reads it.
struct Failure {
  std::string what;                    // in words
  std::string where;                   // "output p at [3, 17]"
  std::string expected, got, allowed;  // may be empty
};

/// A case that the target does not offer (an option, an output).
struct NotOffered {
  std::string what;
};

/// One claim, one target, one case: what a property talks to.
class Check {
 public:
  Check(const Case& of, Target* on, const Contract& under, double z) : c(of), target_(on), contract_(under), z_(z) {}

  /// The case. A property that needs a certain size or option makes such a case from it: `check.with("n", 1)`.
  Case c;
  Check& with(std::string_view axis, std::int64_t value) { return c.set(axis, value), kept_.reset(), *this; }
  Check& with(std::string_view axis, std::string_view name);

  const Contract& contract() const { return contract_; }
  double u_acc() const { return contract_.u(); }
  double u_out() const { return contract_.out->u(); }
  /// Of what is stored between the passes of a softmax; 0 where that is the accumulator's format.
  double u_p() const { return contract_.p == contract_.acc ? 0 : contract_.p->u(); }

  /// The call of this case: options, sizes, inputs filled by profile and seed, in the contract's formats.
  Call call() const;
  /// An integer in [low, high] from the seed and a name, for choices inside a property.
  std::int64_t pick(std::string_view name, std::int64_t low, std::int64_t high) const;

  // ---- on: target
  /// Asks the target; fails if it breaks, stops (not offered) if it does not offer the call.
  Tensors run(const Call& call, const Layout& layout = {});
  /// The bytes that each rank sent in the last run; stops (not offered) if the target does not count them.
  const std::vector<std::int64_t>& sent() const;
  /// Like run, but a refusal comes back as its text; "" if it was accepted.
  std::string refusal(const Call& call);
  Target& target() { return asked_ = true, asked_target(); }
  /// Whether the target declares that an element is computed the same way whatever else is in the call; claims of kind
  /// exact_if_same_kernel are bitwise then, within the bound otherwise.
  bool same_kernel() const { return asked_target().same_kernel(); }
  /// Stops (not offered) unless the target has this output.
  void need(const std::string& output);
  bool offers(const std::string& output) const;
  /// Every offered output within the bound of the definition under the contract, element by element and in aggregate.
  /// Outputs that the page marks as decisions have to be admissible, and the others are judged under them. A case whose
  /// decisions the target does not return is judged if no other choice is admissible, and is not offered otherwise.
  void accurate(const Call& call, const Tensors& outputs);
  /// The same for one output.
  void accurate(const Call& call, const Tensors& outputs, const std::string& output);

  // ---- on: machine
  /// Runs a program; fails if the machine does not take it.
  ProgramRun run(const PtxProgram& program);
  /// Runs one that keeps the rules: fails if the machine finds anything.
  ProgramRun run_right(const PtxProgram& program);
  /// Runs one that breaks a rule: fails unless the machine says so.
  void run_wrong(const PtxProgram& program, const std::string& rule, const std::string& what);
  /// Whether a mistake of the page is planted in its programs.
  bool bug(const std::string& name);
  std::string arch();
  /// The same words, one by one.
  void same_words(const std::string& what, const std::vector<std::uint32_t>& found,
                  const std::vector<std::uint32_t>& expected);

  // ---- on: definition. Sides are evaluated in Bound under contract fp64: equal iff they differ by at most both worst
  // cases.
  template <class T>
  Matrix<T> matrix(std::string_view input) const {
    return Eval<T>(kept_call()).matrix(input);
  }
  template <class T>
  Vector<T> vector(std::string_view input) const {
    return Eval<T>(kept_call()).vector(input);
  }
  /// The definition of the call in reading T.
  template <class T>
  std::map<std::string, Tensor<T>> define(const Call& call, const Tensors& directions = {}) {
    return evaluate<T>(call, directions);
  }
  void agree(const std::string& what, const Tensor<Bound>& left, const Tensor<Bound>& right);
  void agree(const std::string& what, const Bound& left, const Bound& right);
  /// Fails unless some element differs by more than both worst cases.
  void differ(const std::string& what, const Tensor<Bound>& left, const Tensor<Bound>& right);

  // ---- any
  void same_bits(const std::string& what, const Tensor<double>& left, const Tensor<double>& right);
  void same_bits(const std::string& what, double left, double right);
  /// A decision of the target: fails unless scores within their bounds can lead to it (reference/core/choice.hpp).
  void admissible(const std::string& what, const Vector<Bound>& scores, const std::vector<Index>& chosen);
  /// How often a sampler drew each symbol: fails where the counts [symbols] of independent draws are too improbable
  /// under the law [symbols] (conformance/engine/frequencies.hpp), an impossible symbol was drawn, or nothing was.
  void frequencies(const std::string& what, const std::vector<long long>& counts, const Vector<Bound>& law);
  void at_most(const std::string& what, double value, double limit);
  void require(bool holds, const std::string& what);
  /// With the value that decided it.
  void require(bool holds, const std::string& what, double got);
  [[noreturn]] void fail(const Failure& failure);

  /// Comparisons made so far and the largest z met; a property that compares nothing fails.
  long long compared() const { return compared_; }
  double largest_z() const { return largest_z_; }
  /// Elements beyond b + z sigma but within the worst case, of an op whose error model is not validated.
  long long suspects() const { return suspects_; }
  /// The range of finite expected values met by `accurate`: a claim that has seen one value alone tests nothing.
  double lowest() const { return lowest_; }
  double highest() const { return highest_; }
  /// The last call the target answered, and its answer: what a fingerprint is taken of.
  const std::optional<std::pair<Call, Tensors>>& last() const { return last_; }
  /// A case without a single element (T = 0) still says something; a property states so.
  void nothing_to_compare() { stated_empty_ = true; }
  bool stated_empty() const { return stated_empty_; }
  /// Whether the target was asked at all.
  bool asked() const { return asked_; }

 private:
  const Call& kept_call() const;
  /// The definition under the target's decisions, which fails if the scores do not allow them.
  Evaluation<Bound> under_decisions(const Call& call, const Tensors& outputs);
  void within(const Call& call, const Evaluation<Bound>& defined, const Named& output);
  /// Throws Error in a claim on: definition, which has no target.
  Target& asked_target() const;
  Target* target_;
  Contract contract_;
  double z_;
  mutable std::shared_ptr<Call> kept_;
  long long compared_ = 0;
  bool stated_empty_ = false, asked_ = false;
  double largest_z_ = 0;
  long long suspects_ = 0;
  double lowest_ = infinity, highest_ = -infinity;
  std::optional<std::pair<Call, Tensors>> last_;
  std::vector<std::int64_t> sent_;
};

using Property = void (*)(Check&);

struct Claim {
  std::string id;
  Property property;
  const ClaimSpec* spec = nullptr;  // set when the registry meets the pages
  const Page* page = nullptr;       // for a universal claim: set per op
  std::string on = "target";        // of a universal claim
};

/// Claims with a property, in order of id. Throws Error if one is on no page, or registered twice.
const std::vector<Claim>& claims();
/// The universal claims: written once, asked of every op on every target.
const std::vector<Claim>& universal_claims();

struct RegisterClaim {
  /// `on`: of a universal claim, which no page describes.
  RegisterClaim(const char* id, Property property, const char* on = "target");
};

#define ASSAY_JOIN2(a, b) a##b
#define ASSAY_JOIN(a, b) ASSAY_JOIN2(a, b)
#define ASSAY_CLAIM(id, on)                                                                                           \
  static void ASSAY_JOIN(assay_claim_, __LINE__)(::assay::Check&);                                                    \
  static const ::assay::RegisterClaim ASSAY_JOIN(assay_register_, __LINE__)(#id, &ASSAY_JOIN(assay_claim_, __LINE__), \
                                                                            on);                                      \
  static void ASSAY_JOIN(assay_claim_, __LINE__)(::assay::Check & check)
#define CLAIM(id) ASSAY_CLAIM(id, "target")
/// A universal claim on definitions; of the others their page says what they are on.
#define CLAIM_ON_DEFINITION(id) ASSAY_CLAIM(id, "definition")

}  // namespace assay
