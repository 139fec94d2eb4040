#pragma once
#include <cstdint>
#include <string>
#include <vector>

// What claims on: machine talk to: something that runs PTX and says which rules a program broke. The PTX machine is
// one; the engine knows none by itself.
namespace assay {

/// A small program and its memory. Kernel `k` has one parameter for each buffer, its address (.u64), then one for each
/// number
/// (.u32).
struct PtxProgram {
  std::string ptx;
  std::uint32_t blocks = 1, threads = 32, dynamic_shared = 0;
  std::vector<std::vector<std::uint32_t>> buffers;
  std::vector<std::uint32_t> numbers;
  std::uint64_t seed = 1;  ///< of the schedule and every other choice the machine has
  enum class Async : std::uint8_t { eager, lazy, random } async = Async::lazy;
  enum class TensorCore : std::uint8_t { exact, f32_chain, hardware } tensor_core = TensorCore::exact;
};

/// What a run left.
struct ProgramRun {
  struct Finding {
    std::string rule, says;
    int line = 0;
    bool is_error = true;
  };
  std::vector<Finding> findings;
  std::vector<std::vector<std::uint32_t>> buffers;
  bool silent() const { return findings.empty(); }
  bool found(const std::string& rule) const {
    for (const Finding& f : findings)
      if (f.rule == rule) return true;
    return false;
  }
  /// The rules that were broken, for messages.
  std::string rules() const {
    std::string text;
    for (const Finding& f : findings)
      text += (text.empty() ? "" : "; ") + f.rule + " at line " + std::to_string(f.line) + ": " + f.says;
    return text.empty() ? "no finding" : text;
  }
};

class ProgramMachine {
 public:
  virtual ~ProgramMachine() = default;
  /// "sm_80"
  virtual std::string arch() const = 0;
  /// Runs a program in a memory of its own. Throws Error on PTX that this machine does not take.
  virtual ProgramRun run(const PtxProgram& program) = 0;
  /// Whether the mistake of this name is planted: claims write their programs with it then. PAGE.BUG, as on the page.
  virtual bool plants(const std::string&) const { return false; }
};

}  // namespace assay
