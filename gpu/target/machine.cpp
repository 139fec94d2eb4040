// The targets machine:ARCH: the PTX machine itself, of which claims on: machine are asked. They need no kernels, so no
// nvcc.
#include "gpu/machine/machine.hpp"

#include <cstring>

#include "conformance/engine/target.hpp"

namespace assay {
namespace {

class MachineTarget : public Target, private ProgramMachine {
 public:
  MachineTarget(std::string name, std::string arch) : name_(std::move(name)), arch_(std::move(arch)) {
    gpu::Machine known(arch_);
  }
  std::string name() const override { return name_; }
  std::vector<Contract> contracts(const OpSpec&) const override { return {}; }
  bool offers_output(const OpSpec&, const std::string&) const override { return false; }
  bool offers_option(const OpSpec&, std::size_t, int) const override { return false; }
  bool sees_memory() const override { return false; }
  ProgramMachine* machine() override { return this; }
  Answer run(const Call&, const Layout&) override {
    Answer none;
    none.kind = Answer::Kind::unsupported;
    none.message = "ops (it runs the programs of claims; ptx:ARCH runs kernels)";
    return none;
  }

 private:
  std::string arch() const override { return arch_; }

  ProgramRun run(const PtxProgram& program) override {
    gpu::Machine machine(arch_);
    const int module = machine.load(program.ptx);
    gpu::Launch launch;
    launch.kernel = "k";
    launch.grid.x = program.blocks;
    launch.block.x = program.threads;
    launch.dynamic_shared = program.dynamic_shared;
    std::vector<std::uint64_t> addresses;
    for (const auto& buffer : program.buffers) {
      addresses.push_back(machine.allocate(4 * buffer.size()));
      machine.write(addresses.back(), buffer.data(), 4 * buffer.size());
    }
    launch.params.resize(8 * addresses.size() + 4 * program.numbers.size());
    std::memcpy(launch.params.data(), addresses.data(), 8 * addresses.size());
    std::memcpy(launch.params.data() + 8 * addresses.size(), program.numbers.data(), 4 * program.numbers.size());
    gpu::Options options;
    options.seed = program.seed;
    options.async = static_cast<gpu::Async>(program.async);
    options.tensor_core = static_cast<gpu::TensorCore>(program.tensor_core);
    options.instruction_limit = 1000000;
    options.threads = 1;
    const gpu::Report report = machine.launch(module, launch, options);
    ProgramRun ran;
    for (const gpu::Finding& f : report.findings)
      ran.findings.push_back({f.rule, f.says, f.line, f.severity == gpu::Severity::error});
    ran.buffers = program.buffers;
    for (std::size_t k = 0; k < addresses.size(); ++k)
      machine.read(addresses[k], ran.buffers[k].data(), 4 * ran.buffers[k].size());
    return ran;
  }

  std::string name_, arch_;
};

std::unique_ptr<Target> make_machine(const std::string& name) {
  return std::make_unique<MachineTarget>(name, name.substr(name.find(':') + 1));
}

const RegisterTarget machine("machine", "machine:ARCH (sm_80, sm_90a, sm_100a, sm_120a)", &make_machine);

}  // namespace
}  // namespace assay
