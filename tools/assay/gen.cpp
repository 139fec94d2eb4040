#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "conformance/engine/answers.hpp"
#include "conformance/engine/frames.hpp"
#include "tools/assay/command.hpp"
#include "tools/assay/report.hpp"

namespace assay::command {
namespace {

struct Arguments {
  GenerateOptions generate;
  std::string contract = "fp32", tier = "default", folder;
  int cases = -1;
};

void gen(Arguments& a) {
  a.generate.contract = parse_contract(a.contract);
  a.generate.cases = a.cases >= 0 ? a.cases : tier(a.tier).cases;
  if (!a.folder.empty()) {
    std::filesystem::create_directories(a.folder);
    if (!std::filesystem::is_empty(a.folder))
      throw Error("--dir: a folder with other files in it would be judged with them", "a new or empty folder",
                  a.folder);
    long long written = 0;
    generate_calls(a.generate, [&](long long number, long long, const SafetensorsFile& file) {
      write_safetensors(a.folder + fmt::format("/{}_{:05}.safetensors", a.generate.op, number), file);
      written = number;
    });
    fmt::print("{} calls of {} under {} in {}\n", written, a.generate.op, a.generate.contract.spell(), a.folder);
    fmt::print("put the outputs of NAME.safetensors into NAME.out.safetensors, then: assay judge {}\n",
               shell_quoted(a.folder));
    return;
  }
  if (isatty(STDOUT_FILENO) == 1)
    throw Error("standard output is a terminal, and the calls are bytes",
                "assay gen OP ... | PROGRAM | assay judge, or --dir DIR");
  generate_calls(a.generate, [](long long, long long, const SafetensorsFile& file) {
    write_frame(std::cout, serialize_safetensors(file));
    std::cout.flush();
    if (!std::cout) throw std::runtime_error("the program that reads the calls stopped reading");
  });
}

}  // namespace

void add_gen(CLI::App& app) {
  auto* cmd = app.add_subcommand(
      "gen", "Writes calls of an op for a program that answers them: assay gen | PROGRAM | assay judge");
  auto a = std::make_shared<Arguments>();
  cmd->add_option("op", a->generate.op, "the op, as in `assay list ops`")->required();
  cmd->add_option("--contract", a->contract, "one of `assay list contracts`, or a contract spelled out (default fp32)");
  cmd->add_option("--concept", a->generate.concept_id, "whose cases (default: those of the op's own page)");
  cmd->add_option("--tier", a->tier, "quick, default or thorough");
  auto* cases = cmd->add_option("--cases", a->cases, "random cases after the page's corners, instead of the tier's")
                    ->check(CLI::Range(0, 1000000));
  cmd->add_option("--seed", a->generate.seed, "seed of the random cases")->check(seed_check());
  cmd->add_option("--case", a->generate.only_case, "just this case, as a failure spells it")->excludes(cases);
  cmd->add_option("--dir", a->folder, "one file per call in this folder instead of a stream");
  cmd->callback([a] { gen(*a); });
}

}  // namespace assay::command
