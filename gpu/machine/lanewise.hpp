#pragma once
#include <bit>
#include <type_traits>

#include "gpu/machine/decode.hpp"
#include "reference/ptx/half.hpp"

// Handlers of instructions that work lane by lane: the loop over lanes around a function of reference/ptx.
namespace assay::gpu {

/// What a register of a type is made of.
template <class T>
using Cell = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class T>
T value_of(Cell<T> cell) {
  if constexpr (std::is_floating_point_v<T>)
    return std::bit_cast<T>(cell);
  else
    return static_cast<T>(cell);
}
template <class T>
Cell<T> cell_of(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return ptx::bits(value);
  else
    return static_cast<Cell<T>>(static_cast<std::make_unsigned_t<T>>(value));
}

/// The body for every lane that is active; the loop over all of them has no branches in it.
template <class Body>
inline void for_lanes(Mask active, const Body& body) {
  if (active == ptx::full_mask) {
    for (int lane = 0; lane < 32; ++lane) body(lane);
  } else {
    for (; active != 0; active &= active - 1) body(std::countr_zero(active));
  }
}

template <class F, class... A>
auto call_lane(const F& f, const Instruction& i, A... a) {
  if constexpr (std::is_invocable_v<F, A..., const Instruction&>)
    return f(a..., i);
  else
    return f(a...);
}

// F: a lambda without captures over the types of the instruction, (A, ...) -> D or (A, ..., const Instruction&) -> D.
template <class D, class A, class F>
Handler unary(F) {
  return [](Warp& w, const Instruction& i, Mask active) {
    const auto* a = w.in<Cell<A>>(i.a);
    auto* d = w.out<Cell<D>>(i.d);
    for_lanes(active, [&](int l) { d[l] = cell_of<D>(call_lane(F{}, i, value_of<A>(a[l]))); });
    w.define(i.d, active, w.defined(i.a));
    return Step::next;
  };
}
template <class D, class A, class B, class F>
Handler binary(F) {
  return [](Warp& w, const Instruction& i, Mask active) {
    const auto* a = w.in<Cell<A>>(i.a);
    const auto* b = w.in<Cell<B>>(i.b);
    auto* d = w.out<Cell<D>>(i.d);
    for_lanes(active, [&](int l) { d[l] = cell_of<D>(call_lane(F{}, i, value_of<A>(a[l]), value_of<B>(b[l]))); });
    w.define(i.d, active, w.defined(i.a) & w.defined(i.b));
    return Step::next;
  };
}
template <class D, class A, class B, class C, class F>
Handler ternary(F) {
  return [](Warp& w, const Instruction& i, Mask active) {
    const auto* a = w.in<Cell<A>>(i.a);
    const auto* b = w.in<Cell<B>>(i.b);
    const auto* c = w.in<Cell<C>>(i.c);
    auto* d = w.out<Cell<D>>(i.d);
    for_lanes(active, [&](int l) {
      d[l] = cell_of<D>(call_lane(F{}, i, value_of<A>(a[l]), value_of<B>(b[l]), value_of<C>(c[l])));
    });
    w.define(i.d, active, w.defined(i.a) & w.defined(i.b) & w.defined(i.c));
    return Step::next;
  };
}

/// The handler for the integer type that an instruction names: make.operator()<T>().
template <class Make>
Handler by_integer_type(const Decoder& d, const Type& t, const Make& make) {
  const bool is_signed = t.kind == Kind::s;
  if (t.vector == 1 && (t.kind == Kind::s || t.kind == Kind::u || t.kind == Kind::b)) {
    if (t.bits == 16)
      return is_signed ? make.template operator()<std::int16_t>() : make.template operator()<std::uint16_t>();
    if (t.bits == 32)
      return is_signed ? make.template operator()<std::int32_t>() : make.template operator()<std::uint32_t>();
    if (t.bits == 64)
      return is_signed ? make.template operator()<std::int64_t>() : make.template operator()<std::uint64_t>();
  }
  d.fail("an integer type of 16, 32 or 64 bits is expected");
}

/// Operands d, a, b, c of one type.
inline void take_operands(Decoder& d, Instruction& i, std::size_t sources, const Type& t) {
  d.operands(sources + 1, sources + 1);
  i.d = d.out(0, t);
  i.a = d.in(1, t);
  if (sources > 1) i.b = d.in(2, t);
  if (sources > 2) i.c = d.in(3, t);
}

}  // namespace assay::gpu
