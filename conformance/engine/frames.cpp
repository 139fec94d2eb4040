#include "conformance/engine/frames.hpp"

#include <algorithm>
#include <istream>
#include <ostream>
#include <string>

#include "reference/core/error.hpp"

namespace assay {
namespace {

constexpr std::uint64_t largest_frame = std::uint64_t{1} << 30;
constexpr std::size_t piece = std::size_t{1} << 20;

}  // namespace

void write_frame(std::ostream& out, const Bytes& file) {
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(file.size() >> (8 * i) & 0xFF);
  out.write(length, 8);
  out.write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
}

std::optional<Bytes> FrameReader::next() {
  const std::string where = "file " + std::to_string(read_ + 1) + " of the stream";
  char head[8];
  in_.read(head, 8);
  const auto got = static_cast<std::size_t>(in_.gcount());
  if (got == 0) return std::nullopt;
  if (got < 8) throw Error(where, "8 bytes of length", printable(std::string(head, got)) + " and the end");
  std::uint64_t length = 0;
  for (int i = 8; i-- > 0;) length = length << 8 | static_cast<unsigned char>(head[i]);
  if (length == 0 || length > largest_frame)
    throw Error(where + ": length", "8 bytes, little-endian, 1 to 2^30 (does the program print text?)",
                printable(std::string(head, 8)));
  Bytes file;
  while (file.size() < length) {
    const std::size_t at = file.size(), more = std::min(piece, static_cast<std::size_t>(length) - at);
    file.resize(at + more);
    in_.read(reinterpret_cast<char*>(file.data() + at), static_cast<std::streamsize>(more));
    if (static_cast<std::size_t>(in_.gcount()) < more)
      throw Error(where, std::to_string(length) + " bytes",
                  std::to_string(at + static_cast<std::size_t>(in_.gcount())) + " and the end of the stream");
  }
  ++read_;
  return file;
}

}  // namespace assay
