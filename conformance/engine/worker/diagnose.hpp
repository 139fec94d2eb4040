#pragma once
#include <string>
#include <vector>

#include "conformance/engine/worker/protocol.hpp"
#include "conformance/engine/worker/worker.hpp"

namespace assay {

/// A tensor as the worker had it mapped.
struct Mapped {
  std::string name;
  bool output = false;
  std::uint64_t address = 0;                       ///< of its first byte
  std::uint64_t span = 0;                          ///< bytes
  std::uint64_t extent_first = 0, extent_end = 0;  ///< addresses of the accessible memory around it
};

struct Diagnosis {
  Reply::Kind kind;
  std::string message;
};

/// What a dead worker died of, in words. `wait_status` as from waitpid; the crash record counts if it is of that
/// process.
Diagnosis diagnose(int wait_status, const CrashRecord& crash, bool crash_is_its_own, std::uint64_t error_address,
                   const std::vector<Mapped>& tensors);

/// "input x", "output p"
std::string describe(const std::string& name, bool output);

/// "1 byte", "4 bytes"
std::string byte_count(std::uint64_t n);

/// Text of foreign origin, fit for a terminal, JSON and XML: other than printable ASCII and line ends becomes '?'.
std::string printable(std::string text);

}  // namespace assay
