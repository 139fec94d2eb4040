#pragma once
#include <cstdint>

// setmaxnreg (PTX ISA 9.0, section 9.7.19.5): warpgroups of a CTA give registers to a pool and take them from it.
namespace assay::ptx {

/// The operand: a multiple of 8 in 24 .. 256.
constexpr bool is_register_count(int n) { return n >= 24 && n <= 256 && n % 8 == 0; }

enum class Registers : std::uint8_t {
  done,
  blocked,   ///< .inc: the pool has not enough; it goes on when it has
  undefined  ///< no register count, .dec to more than there are, .inc to fewer
};

/// What a CTA was launched with and its warpgroups do not hold, in registers; a warpgroup has 128 threads.
struct RegisterPool {
  int free = 0;

  /// setmaxnreg.dec: a thread keeps the registers below n.
  constexpr Registers decrease(int& held, int n) {
    if (!is_register_count(n) || n > held) return Registers::undefined;
    free += 128 * (held - n);
    held = n;
    return Registers::done;
  }
  /// setmaxnreg.inc: what a thread gains is undefined until it is written.
  constexpr Registers increase(int& held, int n) {
    if (!is_register_count(n) || n < held) return Registers::undefined;
    if (128 * (n - held) > free) return Registers::blocked;
    free -= 128 * (n - held);
    held = n;
    return Registers::done;
  }
};

}  // namespace assay::ptx
