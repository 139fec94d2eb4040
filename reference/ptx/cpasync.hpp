#pragma once
#include <cstdint>

// cp.async (PTX ISA 9.0, section 9.7.9.25.3): what a thread's groups of copies are, and what a copy leaves.
namespace assay::ptx {

/// The groups of one thread, numbered from 0 in the order in which they are closed.
struct CopyGroups {
  std::uint32_t closed = 0;

  /// The group that a copy issued now belongs to: the one that the next commit closes.
  std::uint32_t current() const { return closed; }
  /// cp.async.commit_group: closes a group, which may be empty.
  void commit() { ++closed; }
  /// Whether cp.async.wait_group `newest` returns only when this group is done: it is closed, and not one of the
  /// newest.
  bool awaited(std::uint32_t group, std::uint32_t newest) const {
    return static_cast<std::uint64_t>(group) + newest < closed;
  }
};

/// Byte i of the destination: of the source up to src-size, 0 behind it.
template <class Byte>
constexpr Byte copied(const Byte* source, std::uint32_t source_bytes, std::uint32_t i) {
  return i < source_bytes ? source[i] : Byte{0};
}

}  // namespace assay::ptx
