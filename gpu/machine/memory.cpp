#include "gpu/machine/memory.hpp"

#include "reference/core/error.hpp"

namespace assay::gpu {

std::uint64_t GlobalMemory::allocate(std::uint64_t bytes, bool read_only) {
  if (bytes == 0 || bytes > (std::uint64_t{1} << 36))
    throw Error("bytes of device memory", "1 to 2^36", std::to_string(bytes));
  // An unmapped page at least between two allocations: what runs over one does not land in the next.
  const std::uint64_t address = next_;
  next_ += (bytes + 255) / 256 * 256 + 65536;
  blocks_[address] = {address, address + bytes, read_only, false, std::make_shared<Range>(bytes)};
  return address;
}

bool GlobalMemory::free(std::uint64_t address) {
  const auto block = blocks_.find(address);
  if (block == blocks_.end() || block->second.freed) return false;
  block->second.freed = true;
  block->second.range = std::make_shared<Range>();
  return true;
}

const GlobalMemory::Block* GlobalMemory::find(std::uint64_t address) const {
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  const Block& block = std::prev(after)->second;
  return address < block.last ? &block : nullptr;
}

}  // namespace assay::gpu
