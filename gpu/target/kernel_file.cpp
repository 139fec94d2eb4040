// The target kernel:FILE.ptx[@LAUNCH.yaml]: PTX that somebody else wrote, on the PTX machine. The launch file beside it
// says for which op and how.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gpu/target/device_target.hpp"
#include "gpu/target/launch/launch_file.hpp"

namespace assay {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("PTX cannot be read", "a file of PTX text", "'" + path + "'");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The architecture of the machine that runs PTX with this .target: the one it names, or the next.
std::string arch_of(const std::string& ptx, const std::string& path) {
  const auto at = ptx.find(".target sm_");
  int number = 0;
  if (at != std::string::npos) number = std::atoi(ptx.c_str() + at + 11);
  if (number < 50) throw Error(path + ": no PTX", "a line `.target sm_...`", "none");
  return number <= 80 ? "sm_80" : number <= 90 ? "sm_90a" : number <= 100 ? "sm_100a" : "sm_120a";
}

/// A target with the kernel that it describes.
class KernelFileTarget : public DeviceTarget {
 public:
  KernelFileTarget(const std::string& name, std::unique_ptr<gpu::Kernel> kernel, const std::string& arch,
                   const std::string& ptx, const Manner& manner)
      : DeviceTarget(name, gpu::machine_device(arch), {{kernel.get(), ptx}}, manner), kernel_(std::move(kernel)) {
    load();
  }

 private:
  std::unique_ptr<gpu::Kernel> kernel_;
};

std::unique_ptr<Target> make(const std::string& name) {
  const std::string rest = name.substr(name.find(':') + 1);
  const auto at = rest.find('@');
  const std::string path = rest.substr(0, at);
  const std::string beside = std::filesystem::path(path).replace_extension(".yaml").string();
  const std::string ptx = text_of(path);
  const LaunchFile file = read_launch_file(at == std::string::npos ? beside : rest.substr(at + 1));
  const std::string arch = file.arch.empty() ? arch_of(ptx, path) : file.arch;
  Manner manner;
  manner.same_kernel = false;
  return std::make_unique<KernelFileTarget>(name, std::make_unique<gpu::Kernel>(kernel_of(file)), arch, ptx, manner);
}

const RegisterTarget kernel("kernel", "kernel:FILE.ptx[@LAUNCH.yaml]", &make);

}  // namespace
}  // namespace assay
