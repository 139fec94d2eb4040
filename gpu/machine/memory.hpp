#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

// Bytes, and of each whether something wrote it.
namespace assay::gpu {

enum class Byte : std::uint8_t {
  undefined,
  defined,
  pending /* an asynchronous write is under way */,
  object /* an mbarrier lives there */
};

/// A range of memory: what the lanes of a kernel see of it.
struct Range {
  std::vector<std::uint8_t> data;
  std::vector<Byte> state;
  explicit Range(std::uint64_t bytes = 0, Byte all = Byte::undefined) : data(bytes, 0), state(bytes, all) {}
};

/// Where an access goes. Null: nowhere.
struct Spot {
  std::uint8_t* data = nullptr;
  Byte* state = nullptr;
};

// Generic addresses: global memory keeps its own, the other spaces have windows.
inline constexpr std::uint64_t window_bytes = std::uint64_t{1} << 40;
inline constexpr std::uint64_t shared_window = 1 * window_bytes, local_window = 2 * window_bytes,
                               param_window = 3 * window_bytes, global_base = 4 * window_bytes;
/// Shared memory begins here in a CTA's own window, so that an address of 0 is never right.
inline constexpr std::uint32_t shared_base = 1024;

/// The global memory of a device: allocations with unmapped memory between them.
class GlobalMemory {
 public:
  std::uint64_t allocate(std::uint64_t bytes, bool read_only = false);
  /// False if there is no allocation at this address.
  bool free(std::uint64_t address);

  struct Block {
    std::uint64_t first = 0, last = 0;  // [first, last)
    bool read_only = false, freed = false;
    std::shared_ptr<Range> range;
    Spot at(std::uint64_t address) const {
      return {range->data.data() + (address - first), range->state.data() + (address - first)};
    }
  };
  /// The allocation that holds this address, or null. Addresses of freed ones are not given again.
  const Block* find(std::uint64_t address) const;
  Block* find(std::uint64_t address) {
    return const_cast<Block*>(static_cast<const GlobalMemory*>(this)->find(address));  // NOLINT
  }

 private:
  std::map<std::uint64_t, Block> blocks_;  // by first
  std::uint64_t next_ = global_base;
};

}  // namespace assay::gpu
