#pragma once
#include <cstddef>
#include <cstdint>
#include <map>

namespace assay {

/// Worker side: pieces of the shared memory object, each between two stretches of inaccessible address space. A piece
/// stays where it is for the life of the process, so the same piece has the same address in every call.
class Arena {
 public:
  explicit Arena(int memory_fd) : fd_(memory_fd) {}
  /// Address of `bytes` (whole pages) at `file_offset`, mapped for reading or for reading and writing; nullptr if there
  /// is no address space or the memory object is gone.
  std::byte* map(std::uint64_t file_offset, std::size_t bytes, bool writable);

 private:
  struct Piece {
    std::byte* address;
    std::size_t bytes;
    bool writable;
  };
  int fd_;
  std::map<std::uint64_t, Piece> pieces_;
};

/// `bytes` of private memory that end at an inaccessible page; nullptr if there is none.
std::byte* guarded_private(std::size_t bytes);

}  // namespace assay
