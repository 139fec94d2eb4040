#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// The mutants of a subject: all in one object, made from its source by the build step `assay_mutate`, chosen by a
// switch.
//   MutantScope on(17); run_mutants_softmax(s);        // the subject with its 17th mutant
// A mutant may read or write out of bounds, crash, or never end as far as it is not caught below: run it in a worker
// process.
namespace assay {

class Subject;

/// One mutant: where in the subject's source, what stood there, what it becomes.
struct MutantInfo {
  int id;            // 1, 2, ... within the op
  int line, column;  // of the subject's source, from 1
  const char *original, *kind, *description;
  const char* source;  // the line, trimmed: together with kind and description it survives edits elsewhere in the file
};

/// The mutant that is on in this thread; 0: none, and the instrumented subject gives the bits of the original.
int& active_mutant();

/// What a mutated loop that does not end, or a subscript outside a vector, throws.
struct MutantFault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Turns a mutant on for one run of the subject. More than `passes` passes through loops throw MutantFault.
class MutantScope {
 public:
  explicit MutantScope(int id, std::int64_t passes = std::int64_t{1} << 28);
  ~MutantScope();
  MutantScope(const MutantScope&) = delete;
  MutantScope& operator=(const MutantScope&) = delete;
  /// Passes through loops since this scope began: the original's times a factor is a fair limit for its mutants.
  std::int64_t passes() const;

 private:
  int before_;
};

/// The mutants of an op, in order of id; empty if it has none. And its subject with the switches in it; nullptr if
/// there is none.
std::span<const MutantInfo> mutants_of(std::string_view op);
void (*mutated_subject_of(std::string_view op))(Subject&);
/// The ops that have mutants, sorted.
std::vector<std::string> mutated_ops();

struct RegisterMutants {
  RegisterMutants(const char* op, std::span<const MutantInfo> mutants, void (*run)(Subject&));
};

/// In a generated file SUBJECT becomes this.
#define ASSAY_MUTANTS(op, table)                                                                                     \
  void run_mutants_##op(::assay::Subject& s);                                                                        \
  [[maybe_unused]] static const ::assay::RegisterMutants assay_register_mutants_##op(#op, table, &run_mutants_##op); \
  void run_mutants_##op(::assay::Subject& s)

}  // namespace assay
