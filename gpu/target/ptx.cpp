// The targets ptx:ARCH: our kernels on the PTX machine.
#include <sstream>

#include "gpu/target/device_target.hpp"

namespace assay {
namespace {

/// How the machine is to run: words behind `@`, as in ptx:sm_80@hardware,random,seed=3.
Manner read_manner(const std::string& text) {
  using namespace gpu;
  Manner m;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    m.fixed_async = m.fixed_async || word == "eager" || word == "lazy" || word == "random";
    if (word == "exact" || word == "f32_chain" || word == "hardware")
      m.options.tensor_core = word == "exact"       ? TensorCore::exact
                              : word == "f32_chain" ? TensorCore::f32_chain
                                                    : TensorCore::hardware;
    else if (word == "eager" || word == "lazy" || word == "random")
      m.options.async = word == "eager" ? Async::eager : word == "lazy" ? Async::lazy : Async::random;
    else if (word == "nearest" || word == "adversarial")
      m.options.approximate = word == "nearest" ? Approximate::nearest : Approximate::adversarial;
    else if (word.starts_with("seed=") && word.size() > 5 && word.size() < 15 &&
             word.find_first_not_of("0123456789", 5) == std::string::npos)
      m.options.seed = std::stoull(word.substr(5));
    else
      throw Error(
          "no such way to run the PTX machine",
          "exact, f32_chain or hardware (how tensor cores add); eager, lazy or random (when asynchronous copies "
          "happen); nearest or adversarial (approximate instructions); seed=NUMBER",
          word);
  }
  return m;
}

std::unique_ptr<Target> make_ptx(const std::string& name) {
  const auto at = name.find('@');
  const std::string arch = name.substr(4, at == std::string::npos ? at : at - 4);
  const Manner manner = read_manner(at == std::string::npos ? "" : name.substr(at + 1));
  auto device = gpu::machine_device(arch);
  return std::make_unique<DeviceTarget>(name, std::move(device), kernels_built_for(arch), manner);
}

const RegisterTarget ptx("ptx", "ptx:ARCH (sm_80, sm_90a, sm_100a, sm_120a)", &make_ptx);

}  // namespace
}  // namespace assay
