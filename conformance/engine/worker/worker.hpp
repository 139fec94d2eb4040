#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "reference/core/tensor.hpp"

// All foreign code - plugins, subjects, planted bugs - runs in one kind of process: spawned, persistent, with tensors
// in shared memory, a deadline for each call, and a fresh process after each death. Whatever it does is a Reply.
namespace assay {

/// One tensor of a call: bytes as they lie in memory. Element (i0, i1, ...) starts i0*strides[0] + i1*strides[1] + ...
/// elements after the first; `bytes` reaches from the first element to the last, with whatever lies between them.
/// The stride of a dimension of size 0 or 1 is passed on as it is and means nothing.
struct TensorBytes {
  std::string name;   ///< as on the op's page
  std::string dtype;  ///< a name of reference/core/format.hpp
  Shape shape;
  Shape strides;                 ///< in elements, >= 0
  std::vector<std::byte> bytes;  ///< of an output in a request: ignored
};

/// Where memory ends hard for the tensors of a call: an inaccessible page follows their last byte, or precedes their
/// first.
enum class Guard : std::uint8_t { after, before };

struct RequestOption {
  std::string name, value;
  double number = 0;
};

/// What outputs hold before a call: two bytes, low one first, again and again from the first byte of the tensor on.
/// Both are NaN in fp64, fp32, fp16 and bf16. An element that holds the poison after a call under one pattern and the
/// other pattern after a call under the other was not written.
inline constexpr std::uint16_t kPoison = 0xFFA5, kOtherPoison = 0x7FDA;

struct Request {
  std::string target;  ///< "plugin:FILE.so", or the name of a builtin ("subject:softmax")
  std::string op, contract;
  std::vector<RequestOption> options;
  std::vector<TensorBytes> inputs, outputs;
  Guard guard = Guard::after;
  std::size_t alignment = 0;  ///< of every tensor's first byte; a power of two; 0: that of the element
  std::uint16_t poison = kPoison;
  double deadline_s = 10;
};

struct Reply {
  enum class Kind : std::uint8_t {
    ok,
    unsupported,         ///< the target does not offer this; message says what
    error,               ///< the target refused the call or let an exception escape; message is its text
    not_loaded,          ///< there is no such target: file missing, not a library, symbol or ABI version wrong
    crashed,             ///< the process died: signal, exit, abort
    timed_out,           ///< no answer within the deadline
    guard_violation,     ///< read or wrote outside a tensor
    input_written,       ///< wrote an input
    output_gap_written,  ///< wrote between the elements of a strided output
  };
  Kind kind = Kind::ok;
  std::string message;               ///< a sentence; empty when ok
  std::string note;                  ///< of an accepted call: what the target left in the error buffer
  std::vector<TensorBytes> outputs;  ///< as requested, with bytes; filled when ok, input_written and output_gap_written
  double seconds = 0;                ///< inside the target
  std::string log;                   ///< what the target printed (stdout and stderr), at most the last 4096 bytes
};
const char* to_string(Reply::Kind kind);

/// What a plugin says about itself.
struct PluginInfo {
  std::string version;  ///< assay_plugin_version(), "" if it has none
  bool can_be_asked = false;
};

/// How to start worker processes. They inherit the environment (OMP_NUM_THREADS, ONEDNN_MAX_CPU_ISA, ...), with
/// OMP_WAIT_POLICY=passive unless it says otherwise.
struct Program {
  std::string executable;          ///< "": assay_worker in the folder of the running program
  std::uint64_t memory_limit = 0;  ///< bytes of address space of the process, 0: no limit
  double start_deadline_s = 20;
};

/// One worker process at a time, started at the first call and again after each death. Not for use by two threads at
/// once; one Worker per thread is fine. Calls whose tensors need as much room as before find them at the same
/// addresses.
class Worker {
 public:
  explicit Worker(Program program = {});
  ~Worker();
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;

  /// Runs one call. Throws Error for a request that cannot be made (unknown dtype, strides of wrong rank, outputs whose
  /// elements overlap, bytes that do not fit the shape) and if worker processes cannot be started; never for what the
  /// target does.
  Reply call(const Request& request);

  /// Loads "plugin:FILE.so" and asks what it is. Reply::Kind::ok, not_loaded, crashed or timed_out.
  Reply load(const std::string& target, PluginInfo* info = nullptr, double deadline_s = 10);

  /// assay_plugin_offers. ok: offered (always, if the plugin cannot be asked); unsupported: message is the reason.
  Reply offers(const std::string& target, const std::string& op, const std::string& contract, double deadline_s = 10);

  /// Process id of the live worker, 0 if there is none; number of processes started so far.
  int pid() const;
  int processes_started() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Flat indices (row-major) of the elements of a returned output that still hold the poison of its request.
std::vector<Index> untouched(const TensorBytes& output, std::uint16_t poison);

}  // namespace assay
