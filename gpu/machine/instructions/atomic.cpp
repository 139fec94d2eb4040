#include <algorithm>
#include <cstring>

#include "gpu/machine/access.hpp"
#include "reference/ptx/integer.hpp"

// atom and red: the lanes one after the other.
namespace assay::gpu {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

enum class Op : std::uint8_t { add, min, max, land, lor, lxor, exch, cas, inc, dec };

template <class T>
T applied(Op op, T old, T b, T c) {
  if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case Op::add:
        return old + b;
      default:
        return b;
    }
  } else {
    switch (op) {
      case Op::add:
        return ptx::add(old, b);
      case Op::min:
        return std::min(old, b);
      case Op::max:
        return std::max(old, b);
      case Op::land:
        return static_cast<T>(old & b);
      case Op::lor:
        return static_cast<T>(old | b);
      case Op::lxor:
        return static_cast<T>(old ^ b);
      case Op::cas:
        return old == b ? c : old;
      case Op::inc:
        return old >= b ? T{0} : static_cast<T>(old + 1);
      case Op::dec:
        return old == 0 || old > b ? b : static_cast<T>(old - 1);
      default:
        return b;
    }
  }
}

/// add.f16x2, add.bf16x2 and their halves alone.
template <bool bf, int n>
U added_halves(U old, U b) {
  U y = 0;
  for (int k = 0; k < n; ++k) {
    const auto value = [&](U x) {
      const U code = x >> (16 * k) & 0xffff;
      return static_cast<double>(bf ? ptx::bf16_value(code) : ptx::f16_value(code));
    };
    y |= U{ptx::to_half(bf ? formats::bf16 : formats::fp16, ptx::add_odd(value(old), value(b)))} << (16 * k);
  }
  return y;
}

/// change: (old, b, c, instruction) -> new, on cells of `bytes`.
template <int bytes, class Change>
Handler atomically(Change) {
  return [](Warp& w, const Instruction& n, Mask active) {
    using C = std::conditional_t<bytes == 8, U64, U>;
    const Addresses at = addresses(w, n, n.a, active);
    for_lanes(at.known, [&](int l) {
      const Spot spot = w.at(static_cast<Space>(n.target), at[l], bytes, true, n, l);
      if (spot.data == nullptr || !settled(w, n, l, spot.state, bytes, true)) return;
      C old = 0;
      std::memcpy(&old, spot.data, bytes);
      const bool known = all_are(spot.state, bytes, Byte::defined);
      if (!known) w.report("uninitialized", n, l, "it changes memory that was never given a value");
      const C* b = w.in<C>(n.b);
      const C* c = w.in<C>(n.c);
      const C now = Change{}(old, b[l], c[l], static_cast<Op>(n.mode));
      std::memcpy(spot.data, &now, bytes);
      std::memset(spot.state, static_cast<int>(ptx::has(w.defined(n.b), l) ? Byte::defined : Byte::undefined), bytes);
      if (n.more >= 0) {
        w.out<C>(n.d)[l] = old;
        w.define(n.d, 1U << l, known ? ptx::full_mask : 0);
      }
    });
    return Step::next;
  };
}

template <class T>
Handler of_type() {
  return atomically < sizeof(T) < 4
             ? 2
             : static_cast<int>(sizeof(T)) > ([](auto old, auto b, auto c, Op op) {
                 return cell_of<T>(applied<T>(op, value_of<T>(old), value_of<T>(b), value_of<T>(c)));
               });
}

void atomic(Decoder& d, Instruction& i, bool result) {
  const Type t = d.type();
  Space space = take_space(d);
  d.one_of({"relaxed", "acquire", "release", "acq_rel"});
  d.one_of({"cta", "cluster", "gpu", "sys"});
  d.flag("noftz");
  const int op = d.one_of({"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"});
  if (op < 0) d.fail("an operation such as .add is expected");
  const bool cas = static_cast<Op>(op) == Op::cas;
  const std::size_t first = result ? 1 : 0;
  d.operands(first + (cas ? 3 : 2), first + (cas ? 3 : 2));
  const bool is_float = t.kind == Kind::f || t.kind == Kind::bf;
  if (is_float && static_cast<Op>(op) != Op::add && static_cast<Op>(op) != Op::exch)
    d.fail("of floats .add alone is known");
  if (t.bits == 16 && !is_float && !cas) d.fail("of 16 bits .cas.b16 and sums of halves are known");
  i.a = d.address(d.operand(first), i, space);
  i.flags |= Instruction::strong;
  i.target = static_cast<int>(space);
  i.b = d.in(first + 1, t);
  i.c = cas ? d.in(first + 2, t) : i.b;
  i.mode = static_cast<std::uint8_t>(op);
  if (result) {
    i.d = d.out(0, t);
    i.more = d.list({});
  }
  if (space != Space::shared) d.code.orders_global = true;
  if (is_float && t.bits == 16) {
    const bool bf = t.kind == Kind::bf;
    if (t.vector == 2)
      i.run = bf ? atomically<4>([](U o, U b, U, Op) { return added_halves<true, 2>(o, b); })
                 : atomically<4>([](U o, U b, U, Op) { return added_halves<false, 2>(o, b); });
    else
      i.run = bf ? atomically<2>([](U o, U b, U, Op) { return added_halves<true, 1>(o, b); })
                 : atomically<2>([](U o, U b, U, Op) { return added_halves<false, 1>(o, b); });
  } else if (is_float) {
    i.run = t.bits == 64 ? of_type<double>() : of_type<float>();
  } else {
    i.run = by_integer_type(d, t, []<class T>() { return of_type<T>(); });
  }
}

void atom(Decoder& d, Instruction& i) { atomic(d, i, true); }
void red(Decoder& d, Instruction& i) { atomic(d, i, false); }

}  // namespace

void add_atomic(Families& families) {
  families["atom"] = atom;
  families["red"] = red;
}

}  // namespace assay::gpu
