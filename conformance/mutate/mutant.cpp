#include "conformance/mutate/mutant.hpp"

#include <map>

#include "conformance/mutate/switch.hpp"

namespace assay {
namespace mutate {

constinit thread_local State state;

void out_of_passes() { throw MutantFault("a mutant's loops passed the limit"); }
void outside() { throw MutantFault("a mutant's subscript is outside its vector"); }

}  // namespace mutate

namespace {

struct Entry {
  std::span<const MutantInfo> mutants;
  void (*run)(Subject&);
};
std::map<std::string, Entry, std::less<>>& entries() {
  static std::map<std::string, Entry, std::less<>> all;
  return all;
}

}  // namespace

int& active_mutant() { return mutate::state.active; }

MutantScope::MutantScope(int id, std::int64_t passes) : before_(mutate::state.active) {
  mutate::state.active = id;
  mutate::state.passes = 0;
  mutate::state.limit = passes;
  ++mutate::state.run;
}
MutantScope::~MutantScope() { mutate::state.active = before_; }
std::int64_t MutantScope::passes() const { return mutate::state.passes; }

RegisterMutants::RegisterMutants(const char* op, std::span<const MutantInfo> mutants, void (*run)(Subject&)) {
  entries()[op] = {mutants, run};
}

std::span<const MutantInfo> mutants_of(std::string_view op) {
  const auto at = entries().find(op);
  return at == entries().end() ? std::span<const MutantInfo>() : at->second.mutants;
}

void (*mutated_subject_of(std::string_view op))(Subject&) {
  const auto at = entries().find(op);
  return at == entries().end() ? nullptr : at->second.run;
}

std::vector<std::string> mutated_ops() {
  std::vector<std::string> ops;
  for (const auto& entry : entries()) ops.push_back(entry.first);
  return ops;
}

}  // namespace assay
