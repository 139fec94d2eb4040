#include "spec/report/explain.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "reference/core/contract.hpp"
#include "spec/report/list.hpp"
#include "spec/report/skeleton.hpp"
#include "tools/assay/command.hpp"

// What there is to read: list, explain, new.
namespace assay::command {

void add_explain(CLI::App& app) {
  auto* cmd = app.add_subcommand("explain", "What an id means: a concept, an op, a claim or a planted bug");
  auto id = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  cmd->add_option("ID", *id, "softmax.safe, softmax, softmax.safe.sum1, softmax.finite_mask, ...")->required();
  cmd->add_flag("--json", *json, "for machines; an op becomes a JSON Schema of a call");
  cmd->callback([id, json] {
    if (*json)
      fmt::print("{}\n", spec::explain_json(*id).dump(2));
    else
      fmt::print("{}\n", spec::explain(*id));
  });
}

void add_list(CLI::App& app) {
  auto* cmd = app.add_subcommand("list", "What there is: concepts, claims, ops, bugs, targets or contracts");
  auto what = std::make_shared<std::string>("concepts");
  auto json = std::make_shared<bool>(false);
  cmd->add_option("WHAT", *what, "concepts (default), claims, ops, bugs, targets, contracts");
  cmd->add_flag("--json", *json, "for machines");
  cmd->callback([what, json] {
    spec::Known known;
    for (const std::string& name : contract_presets()) known.contracts.push_back({name, parse_contract(name).spell()});
    known.targets = {
        {"reference", "the definitions in double"},
        {"subject:CONTRACT", "the kit's own float implementations (fp32, bf16, fp16, or a contract spelled out)"},
        {"planted:OP.BUG[@CONTRACT]", "a subject with one bug that somebody shipped; exits 1 when it is caught"},
        {"planted:all", "every planted bug where its page says that it dies; exits 0 when all do"},
        {"mutant:OP.NUMBER[@CONTRACT]", "a subject with one mechanical mutation"},
        {"plugin:FILE.so", "a kernel library behind assay/plugin.h, with its capability file FILE.yaml beside it"},
        {"ranks:threads", "a group of ranks on threads of this process: claims on: process, of sharded ops"},
        {"ranks:mpi", "the same on four processes that mpirun starts, where MPI is found"},
        {"ptx:ARCH", "our CUDA kernels on the PTX machine, no GPU needed: sm_80, sm_90a, sm_100a, sm_120a"},
        {"machine:ARCH", "the PTX machine itself: claims on: machine, which run programs of their own"},
        {"planted:PAGE.BUG", "the machine, with one mistake in those programs; exits 1 when it is caught"},
        {"cuda", "the same kernels on a CUDA device, where there is one"},
        {"kernel:FILE.ptx[@LAUNCH.yaml]", "a kernel in PTX on the PTX machine, called as its launch file says"},
        {"files:DIR", "outputs that someone else computed"}};
    if (*json)
      fmt::print("{}\n", spec::list_json(*what, known).dump(2));
    else
      fmt::print("{}\n", spec::list_text(*what, known));
  });
}

void add_new(CLI::App& app) {
  auto* cmd = app.add_subcommand("new", "Writes the files a new concept starts from");
  auto path = std::make_shared<std::string>();
  auto op = std::make_shared<std::string>();
  auto root = std::make_shared<std::string>(".");
  cmd->add_option("CHAPTER/CONCEPT", *path, "norm/rms")->required();
  cmd->add_option("--op", *op, "name of its op; the op of another page makes the page use it");
  cmd->add_option("--root", *root, "source tree of assay");
  cmd->callback([path, op, root] { fmt::print("{}\n", spec::create(*root, *path, *op)); });
}

}  // namespace assay::command
