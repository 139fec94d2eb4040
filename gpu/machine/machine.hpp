#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

// The PTX machine: it runs a kernel's PTX on the CPU and says what it saw. Global memory belongs to the machine:
// allocate, write, launch, read. A launch that breaks a rule of PTX is no crash: its findings tell the rule, the line,
// the lane.
namespace assay::gpu {

struct Dim {
  std::uint32_t x = 1, y = 1, z = 1;
};

struct Launch {
  std::string kernel;
  Dim grid, block, cluster;
  std::uint32_t dynamic_shared = 0;  ///< bytes
  std::vector<std::uint8_t> params;  ///< laid out as the kernel declares its parameters
};

/// How the tensor cores add. A kernel has to be right under all three.
enum class TensorCore : std::uint8_t { exact, f32_chain, hardware };
/// When an asynchronous operation reads and writes: at issue, when waited for, or at random in between.
enum class Async : std::uint8_t { eager, lazy, random };
/// Approximate instructions: the nearest value, or any within the documented error.
enum class Approximate : std::uint8_t { nearest, adversarial };

struct Options {
  std::uint64_t seed = 1;  ///< of the schedule and of every adversarial choice
  TensorCore tensor_core = TensorCore::exact;
  Async async = Async::lazy;
  Approximate approximate = Approximate::nearest;
  bool races = true;                           ///< the race detector
  std::uint64_t instruction_limit = 1u << 30;  ///< warp instructions of one block; more is a finding, not a hang
  int threads = 0;                             ///< CTAs at a time; 0: as many as cores
};

enum class Severity : std::uint8_t { error, portability, lint };

/// One broken rule, with its place. `rule` is a stable word: "out_of_bounds", "misaligned", "uninitialized", "race",
/// "deadlock", "divergent", "limit", "trap", ...
struct Finding {
  std::string rule;
  Severity severity = Severity::error;
  std::string says;    ///< what was found and what was expected
  int line = 0;        ///< of the PTX
  std::string source;  ///< "file.cu:12" from .loc, or empty
  Dim cta;
  int warp = 0, lane = 0;
  std::uint64_t count = 1;  ///< how often this rule was broken at this line
};

struct Counters {
  std::uint64_t warp_instructions = 0, lane_operations = 0;
  std::map<std::string, std::uint64_t> by_name;  ///< warp instructions: "ld", "bar", "mma.m16n8k16", ...
};

struct Report {
  std::vector<Finding> findings;
  Counters counters;
  std::string printed;  ///< what the kernel printed
  bool ok() const;      ///< no finding of severity error
};

/// A device: memory and modules. Not thread-safe; a launch uses threads of its own.
class Machine {
 public:
  /// "sm_80", "sm_90a", "sm_100a", "sm_120a". Throws Error on another.
  explicit Machine(const std::string& arch);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Parses and decodes. Throws Error naming the line of what it does not know or what this architecture does not have.
  int load(const std::string& ptx);

  /// Aligned to 256 bytes; its content is undefined until written.
  std::uint64_t allocate(std::uint64_t bytes);
  void free(std::uint64_t address);
  /// Throws Error outside one allocation.
  void write(std::uint64_t address, const void* from, std::uint64_t bytes);
  /// Gives what is there; `defined`, if asked for, is 1 for each byte that something wrote.
  void read(std::uint64_t address, void* to, std::uint64_t bytes, std::vector<std::uint8_t>* defined = nullptr) const;

  /// Runs to the end or to the first finding that leaves no meaning (a trap). Throws Error on a launch that no device
  /// would accept: an unknown kernel, a wrong size of parameters, a block too large, too much shared memory.
  Report launch(int module, const Launch& launch, const Options& options = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::gpu
