#pragma once
#include <vector>

#include "conformance/engine/worker/diagnose.hpp"
#include "conformance/engine/worker/layout.hpp"
#include "conformance/engine/worker/process.hpp"

namespace assay {

/// A tensor of a call and its place in shared memory.
struct Placed {
  const TensorBytes* buffer;
  bool output;
  std::size_t span, start;
  Extent extent;
};

/// Parent side: the shared memory of one worker process and where the tensors of a call lie in it. Calls whose tensors
/// need as much room as before find them at the same place.
class CallMemory {
 public:
  int fd() const { return memory_.fd(); }
  Control& control() { return *reinterpret_cast<Control*>(memory_.data()); }

  /// Places for all tensors, inputs first. Invalidates control().
  std::vector<Placed> place_all(const Request& r);
  /// Inputs in, poison into outputs, a canary around both.
  void fill(const std::vector<Placed>& all, const Request& r);
  /// The request as the worker reads it.
  void write_request(const Request& r, Command command, const std::vector<Placed>& all);
  /// After a call: writes that stayed on accessible pages (the canary, an input, the gaps of an output) become the kind
  /// and message of the reply.
  void inspect(const std::vector<Placed>& all, const Request& r, Reply& reply);
  /// The outputs as they are now.
  std::vector<TensorBytes> outputs(const std::vector<Placed>& all);
  /// Where the worker had the tensors.
  std::vector<Mapped> mapped(const std::vector<Placed>& all);

 private:
  Extent piece(bool output, std::size_t index, std::size_t span);
  std::byte* at(const Placed& p) { return memory_.data() + p.extent.file_offset + p.start; }

  SharedMemory memory_;
  std::vector<Extent> pieces_[2];  // of the inputs, of the outputs; by place in the call
};

}  // namespace assay
