#pragma once
#include <iosfwd>
#include <optional>

#include "reference/core/file_io.hpp"

// The stream of `assay gen OP | PROGRAM | assay judge`: files one after another, each behind its length as 8 bytes,
// little-endian.
namespace assay {

void write_frame(std::ostream& out, const Bytes& file);

/// The next file; nothing at the end of the stream. Throws Error naming the frame (from 1) if the stream ends inside
/// it or its length is not believable (0, above 1 GiB: most likely text that the program printed); nothing is
/// allocated that did not arrive.
class FrameReader {
 public:
  explicit FrameReader(std::istream& in) : in_(in) {}
  std::optional<Bytes> next();
  long long read() const { return read_; }

 private:
  std::istream& in_;
  long long read_ = 0;
};

}  // namespace assay
