#include "reference/ptx/integer.hpp"

#include "gpu/machine/lanewise.hpp"

// Integer arithmetic, and where the same mnemonic also takes floats, the way there.
namespace assay::gpu {

void decode_floating(Decoder& d, Instruction& i, const Type& t);  // floating.cpp

namespace {

constexpr Type u32{Kind::u, 32};

bool is_float(const Type& t) { return t.kind == Kind::f || t.kind == Kind::bf; }

template <class Op>
void two_sources(Decoder& d, Instruction& i, const Type& t, const Op& op) {
  take_operands(d, i, 2, t);
  i.run = by_integer_type(d, t, op);
}

void add(Decoder& d, Instruction& i) {
  const Type t = d.type();
  if (is_float(t)) return decode_floating(d, i, t);
  if (d.flag("sat")) {
    if (t.bits != 32 || t.kind != Kind::s) d.fail(".sat takes .s32 alone");
    take_operands(d, i, 2, t);
    i.run = binary<std::int32_t, std::int32_t, std::int32_t>(
        [](std::int32_t a, std::int32_t b) { return ptx::add_sat(a, b); });
    return;
  }
  two_sources(d, i, t, []<class T>() { return binary<T, T, T>([](T a, T b) { return ptx::add(a, b); }); });
}

void sub(Decoder& d, Instruction& i) {
  const Type t = d.type();
  if (is_float(t)) return decode_floating(d, i, t);
  if (d.flag("sat")) {
    if (t.bits != 32 || t.kind != Kind::s) d.fail(".sat takes .s32 alone");
    take_operands(d, i, 2, t);
    i.run = binary<std::int32_t, std::int32_t, std::int32_t>(
        [](std::int32_t a, std::int32_t b) { return ptx::sub_sat(a, b); });
    return;
  }
  two_sources(d, i, t, []<class T>() { return binary<T, T, T>([](T a, T b) { return ptx::sub(a, b); }); });
}

Type doubled(const Type& t) { return {t.kind, t.bits * 2, 1}; }

template <class Make>
Handler by_narrow_type(const Decoder& d, const Type& t, const Make& make) {
  if (t.bits == 16)
    return t.kind == Kind::s ? make.template operator()<std::int16_t>() : make.template operator()<std::uint16_t>();
  if (t.bits == 32)
    return t.kind == Kind::s ? make.template operator()<std::int32_t>() : make.template operator()<std::uint32_t>();
  d.fail(".wide takes types of 16 and 32 bits");
}

void mul(Decoder& d, Instruction& i) {
  const Type t = d.type();
  if (is_float(t)) return decode_floating(d, i, t);
  switch (d.one_of({"lo", "hi", "wide"})) {
    case 0:
      return two_sources(d, i, t,
                         []<class T>() { return binary<T, T, T>([](T a, T b) { return ptx::mul_lo(a, b); }); });
    case 1:
      return two_sources(d, i, t,
                         []<class T>() { return binary<T, T, T>([](T a, T b) { return ptx::mul_hi(a, b); }); });
    case 2:
      d.operands(3, 3);
      i.d = d.out(0, doubled(t));
      i.a = d.in(1, t);
      i.b = d.in(2, t);
      i.run = by_narrow_type(
          d, t, []<class T>() { return binary<ptx::Wider<T>, T, T>([](T a, T b) { return ptx::mul_wide(a, b); }); });
      return;
    default:
      d.fail(".lo, .hi or .wide is expected");
  }
}

void mad(Decoder& d, Instruction& i) {
  const Type t = d.type();
  if (is_float(t)) return decode_floating(d, i, t);
  switch (d.one_of({"lo", "hi", "wide"})) {
    case 0:
      take_operands(d, i, 3, t);
      i.run = by_integer_type(d, t, []<class T>() {
        return ternary<T, T, T, T>([](T a, T b, T c) { return ptx::add(ptx::mul_lo(a, b), c); });
      });
      return;
    case 1:
      take_operands(d, i, 3, t);
      if (d.flag("sat")) {
        if (t.bits != 32 || t.kind != Kind::s) d.fail(".sat takes .s32 alone");
        i.run = ternary<std::int32_t, std::int32_t, std::int32_t, std::int32_t>(
            [](std::int32_t a, std::int32_t b, std::int32_t c) { return ptx::add_sat(ptx::mul_hi(a, b), c); });
        return;
      }
      i.run = by_integer_type(d, t, []<class T>() {
        return ternary<T, T, T, T>([](T a, T b, T c) { return ptx::add(ptx::mul_hi(a, b), c); });
      });
      return;
    case 2:
      d.operands(4, 4);
      i.d = d.out(0, doubled(t));
      i.a = d.in(1, t);
      i.b = d.in(2, t);
      i.c = d.in(3, doubled(t));
      i.run = by_narrow_type(d, t, []<class T>() {
        using W = ptx::Wider<T>;
        return ternary<W, T, T, W>([](T a, T b, W c) { return ptx::add(ptx::mul_wide(a, b), c); });
      });
      return;
    default:
      d.fail(".lo, .hi or .wide is expected");
  }
}

void mul24(Decoder& d, Instruction& i) {
  const Type t = d.type();
  const bool high = d.one_of({"lo", "hi"}) == 1;
  take_operands(d, i, 2, t);
  if (t.bits != 32) d.fail("a type of 32 bits is expected");
  i.run = by_integer_type(d, t, [high]<class T>() {
    return high ? binary<T, T, T>([](T a, T b) { return ptx::mul24_hi(a, b); })
                : binary<T, T, T>([](T a, T b) { return ptx::mul24_lo(a, b); });
  });
}

void mad24(Decoder& d, Instruction& i) {
  const Type t = d.type();
  const bool high = d.one_of({"lo", "hi"}) == 1;
  take_operands(d, i, 3, t);
  if (t.bits != 32) d.fail("a type of 32 bits is expected");
  i.run = by_integer_type(d, t, [high]<class T>() {
    return high ? ternary<T, T, T, T>([](T a, T b, T c) { return ptx::add(ptx::mul24_hi(a, b), c); })
                : ternary<T, T, T, T>([](T a, T b, T c) { return ptx::add(ptx::mul24_lo(a, b), c); });
  });
}

void sad(Decoder& d, Instruction& i) {
  const Type t = d.type();
  take_operands(d, i, 3, t);
  i.run = by_integer_type(
      d, t, []<class T>() { return ternary<T, T, T, T>([](T a, T b, T c) { return ptx::sad(a, b, c); }); });
}

void div(Decoder& d, Instruction& i) {
  const Type t = d.type();
  if (is_float(t)) return decode_floating(d, i, t);
  two_sources(d, i, t, []<class T>() { return binary<T, T, T>([](T a, T b) { return ptx::div(a, b); }); });
}

void rem(Decoder& d, Instruction& i) {
  two_sources(d, i, d.type(), []<class T>() { return binary<T, T, T>([](T a, T b) { return ptx::rem(a, b); }); });
}

void abs(Decoder& d, Instruction& i) {
  const Type t = d.type();
  if (is_float(t)) return decode_floating(d, i, t);
  take_operands(d, i, 1, t);
  i.run = by_integer_type(d, t, []<class T>() { return unary<T, T>([](T a) { return ptx::abs(a); }); });
}

void neg(Decoder& d, Instruction& i) {
  const Type t = d.type();
  if (is_float(t)) return decode_floating(d, i, t);
  take_operands(d, i, 1, t);
  i.run = by_integer_type(d, t, []<class T>() { return unary<T, T>([](T a) { return ptx::neg(a); }); });
}

void min(Decoder& d, Instruction& i) {
  const Type t = d.type();
  if (is_float(t)) return decode_floating(d, i, t);
  two_sources(d, i, t, []<class T>() { return binary<T, T, T>([](T a, T b) { return ptx::min(a, b); }); });
}

void max(Decoder& d, Instruction& i) {
  const Type t = d.type();
  if (is_float(t)) return decode_floating(d, i, t);
  two_sources(d, i, t, []<class T>() { return binary<T, T, T>([](T a, T b) { return ptx::max(a, b); }); });
}

template <class Make>
void count(Decoder& d, Instruction& i, const Make& make) {
  const Type t = d.type();
  d.operands(2, 2);
  i.d = d.out(0, u32);
  i.a = d.in(1, t);
  if (t.bits < 32) d.fail("a type of 32 or 64 bits is expected");
  i.run = by_integer_type(d, t, make);
}

void popc(Decoder& d, Instruction& i) {
  count(d, i, []<class T>() { return unary<std::uint32_t, T>([](T a) { return ptx::popc(a); }); });
}
void clz(Decoder& d, Instruction& i) {
  count(d, i, []<class T>() { return unary<std::uint32_t, T>([](T a) { return ptx::clz(a); }); });
}
void bfind(Decoder& d, Instruction& i) {
  const bool amount = d.flag("shiftamt");
  count(d, i, [amount]<class T>() {
    return amount ? unary<std::uint32_t, T>([](T a) { return ptx::bfind(a, true); })
                  : unary<std::uint32_t, T>([](T a) { return ptx::bfind(a, false); });
  });
}

void dp4a(Decoder& d, Instruction& i) {
  const Type tb = d.type(), ta = d.type();
  take_operands(d, i, 3, u32);
  const auto make = []<class A, class B>() {
    return ternary<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>(
        [](std::uint32_t a, std::uint32_t b, std::uint32_t c) { return ptx::dp4a<A, B>(a, b, c); });
  };
  using S = std::int8_t;
  using U = std::uint8_t;
  i.run = ta.kind == Kind::s ? (tb.kind == Kind::s ? make.operator()<S, S>() : make.operator()<S, U>())
                             : (tb.kind == Kind::s ? make.operator()<U, S>() : make.operator()<U, U>());
}

}  // namespace

void add_integer(Families& families) {
  families["add"] = add;
  families["sub"] = sub;
  families["mul"] = mul;
  families["mad"] = mad;
  families["mul24"] = mul24;
  families["mad24"] = mad24;
  families["sad"] = sad;
  families["div"] = div;
  families["rem"] = rem;
  families["abs"] = abs;
  families["neg"] = neg;
  families["min"] = min;
  families["max"] = max;
  families["popc"] = popc;
  families["clz"] = clz;
  families["bfind"] = bfind;
  families["dp4a"] = dp4a;
}

}  // namespace assay::gpu
