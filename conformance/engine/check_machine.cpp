#include <fmt/format.h>

#include "conformance/engine/claim.hpp"

// What a claim on: machine asks.
namespace assay {
namespace {

ProgramMachine& machine_of(Target& target) {
  ProgramMachine* machine = target.machine();
  if (machine == nullptr) throw Error("a claim on: machine", "a target that runs programs", target.name());
  return *machine;
}

}  // namespace

std::string Check::arch() { return machine_of(target()).arch(); }

bool Check::bug(const std::string& name) { return machine_of(target()).plants(c.space().page().id + "." + name); }

ProgramRun Check::run(const PtxProgram& program) {
  try {
    return machine_of(target()).run(program);
  } catch (const Error& e) {
    fail({"the machine does not take the program", e.what(), "a run", "none", ""});
  }
}

ProgramRun Check::run_right(const PtxProgram& program) {
  ProgramRun ran = run(program);
  ++compared_;
  if (!ran.silent()) fail({"a program that keeps the rules", "", "no finding", ran.rules(), ""});
  return ran;
}

void Check::run_wrong(const PtxProgram& program, const std::string& rule, const std::string& what) {
  const ProgramRun ran = run(program);
  ++compared_;
  if (!ran.found(rule)) fail({what, "", "a finding '" + rule + "'", ran.rules(), ""});
}

void Check::same_words(const std::string& what, const std::vector<std::uint32_t>& found,
                       const std::vector<std::uint32_t>& expected) {
  if (found.size() != expected.size())
    fail({what, "", std::to_string(expected.size()) + " words", std::to_string(found.size()), ""});
  for (std::size_t i = 0; i < found.size(); ++i) {
    ++compared_;
    if (found[i] != expected[i])
      fail({what, "word " + std::to_string(i), fmt::format("{:#010x}", expected[i]), fmt::format("{:#010x}", found[i]),
            "the same bits"});
  }
}

}  // namespace assay
