#include "reference/core/tensor.hpp"

namespace assay {
namespace detail {
namespace {

constexpr std::align_val_t line{64};

/// What a thread dropped, the latest last. Only blocks that malloc is slow for and a cache may hold.
struct Dropped {
  static constexpr std::size_t most = 16, least_bytes = 4096, most_bytes = 1 << 20;
  struct Block {
    void* memory;
    std::size_t bytes;
  };
  std::vector<Block> blocks;
  ~Dropped() {
    for (const Block& b : blocks) ::operator delete(b.memory, line);
    gone = true;
  }
  static bool keeps(std::size_t bytes) { return !gone && bytes >= least_bytes && bytes <= most_bytes; }
  static thread_local bool gone;  // the thread is ending
};
thread_local bool Dropped::gone = false;
thread_local Dropped dropped;

}  // namespace

void* take_memory(std::size_t bytes) {
  if (Dropped::keeps(bytes)) {
    auto& blocks = dropped.blocks;
    for (std::size_t i = blocks.size(); i-- > 0;) {
      if (blocks[i].bytes != bytes) continue;
      void* const memory = blocks[i].memory;
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
      return memory;
    }
  }
  return ::operator new(bytes, line);
}

void drop_memory(void* memory, [[maybe_unused]] std::size_t bytes) {
#if !defined(__SANITIZE_ADDRESS__)  // which wants to see every block freed
  if (Dropped::keeps(bytes)) {
    auto& blocks = dropped.blocks;
    if (blocks.size() == Dropped::most) {
      ::operator delete(blocks.front().memory, line);
      blocks.erase(blocks.begin());
    }
    blocks.reserve(Dropped::most);  // dropping memory cannot fail later
    blocks.push_back({memory, bytes});
    return;
  }
#endif
  ::operator delete(memory, line);
}

}  // namespace detail

std::string to_string(const Shape& shape) {
  std::string s = "[";
  for (std::size_t d = 0; d < shape.size(); ++d) s += (d ? ", " : "") + std::to_string(shape[d]);
  return s + "]";
}

Index count(const Shape& shape) {
  bool empty = false;
  for (Index size : shape) {
    if (size < 0) throw Error("negative size in a shape", "sizes >= 0", to_string(shape));
    empty = empty || size == 0;
  }
  if (empty) return 0;  // whatever the other sizes are
  Index n = 1;
  for (Index size : shape)
    if (__builtin_mul_overflow(n, size, &n))
      throw Error("shape has too many elements", "fewer than 2^63", to_string(shape));
  return n;
}

Shape dense_strides(const Shape& shape) {
  count(shape);  // may throw
  Shape strides(shape.size());
  Index step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    // Only the product of an empty shape, or the one behind the first size, which is no stride, can overflow.
    if (__builtin_mul_overflow(step, shape[d], &step)) step = 0;
  }
  return strides;
}

}  // namespace assay
