#include "conformance/engine/worker/arena.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "conformance/engine/worker/protocol.hpp"

namespace assay {
namespace {

std::byte* reserve(std::size_t bytes) {
  void* p = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<std::byte*>(p);
}

}  // namespace

std::byte* Arena::map(std::uint64_t file_offset, std::size_t bytes, bool writable) {
  const auto found = pieces_.find(file_offset);
  if (found != pieces_.end() && found->second.bytes == bytes && found->second.writable == writable)
    return found->second.address;
  std::byte* base = reserve(bytes + 2 * kGuardBytes);
  if (!base) return nullptr;
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* p = mmap(base + kGuardBytes, bytes, protection, MAP_SHARED | MAP_FIXED, fd_, static_cast<off_t>(file_offset));
  if (p == MAP_FAILED) return nullptr;
  pieces_[file_offset] = {static_cast<std::byte*>(p), bytes, writable};
  return static_cast<std::byte*>(p);
}

std::byte* guarded_private(std::size_t bytes) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), whole = (bytes + page - 1) / page * page;
  std::byte* base = reserve(whole + kGuardBytes);
  if (!base || mprotect(base, whole, PROT_READ | PROT_WRITE) != 0) return nullptr;
  return base + whole - bytes;
}

}  // namespace assay
