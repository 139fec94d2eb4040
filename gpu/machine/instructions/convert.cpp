#include "reference/ptx/convert.hpp"

#include "gpu/machine/lanewise.hpp"

// cvt.
namespace assay::gpu {
namespace {

using U = std::uint32_t;
constexpr std::uint8_t ftz_flag = 8, sat_flag = 16, relu_flag = 32;

bool is_integer(const Type& t) { return t.kind == Kind::u || t.kind == Kind::s; }

/// The double value of a source of a float type: exact.
template <int kind>  // 0: f16, 1: bf16, 2: f32, 3: f64
double number(Cell<std::conditional_t<kind == 3, double, float>> cell) {
  if constexpr (kind == 0) return decode(formats::fp16, cell & 0xffff);
  if constexpr (kind == 1) return decode(formats::bf16, cell & 0xffff);
  if constexpr (kind == 2) return static_cast<double>(std::bit_cast<float>(cell));
  if constexpr (kind == 3) return std::bit_cast<double>(cell);
}
int kind_of(const Decoder& d, const Type& t) {
  if (t.vector != 1) d.fail("this conversion is not known here");
  if (t.kind == Kind::bf) return 1;
  if (t.kind == Kind::f) return t.bits == 16 ? 0 : t.bits == 32 ? 2 : 3;
  d.fail("a float type is expected");
}

double flushed_source(double x, const Instruction& n) {
  return (n.flags & ftz_flag) != 0 && std::fabs(x) < static_cast<double>(std::numeric_limits<float>::min())
             ? std::copysign(0.0, x)
             : x;
}
double limited(double x, const Instruction& n) {
  if ((n.flags & sat_flag) != 0) return ptx::saturated01(x);
  if ((n.flags & relu_flag) != 0 && x < 0) return 0;
  return x;
}

/// The result in a float type of 16, 32 or 64 bits.
template <int kind>
auto rounded(double x, const Instruction& n) {
  x = limited(x, n);
  if constexpr (kind == 0) return U{ptx::to_half(formats::fp16, x, static_cast<Round>(n.mode))};
  if constexpr (kind == 1) return U{ptx::to_half(formats::bf16, x, static_cast<Round>(n.mode))};
  if constexpr (kind == 2) {
    const float y = ptx::to_f32(x, static_cast<Round>(n.mode));
    return (n.flags & ftz_flag) != 0 ? ptx::flushed(y) : y;
  }
  if constexpr (kind == 3) return x;
}

template <int to, int from>
Handler float_to_float() {
  using A = std::conditional_t<from == 3, std::uint64_t, U>;
  using D = std::conditional_t<to == 3, double, std::conditional_t<to == 2, float, U>>;
  return unary<D, A>([](A a, const Instruction& n) {
    double x = flushed_source(number<from>(a), n);
    if ((n.target & 1) != 0) x = ptx::to_integral(x, static_cast<Round>(n.mode));  // .rni and the like
    return rounded<to>(x, n);
  });
}
template <int from>
Handler float_to_float_of(int to) {
  return to == 0   ? float_to_float<0, from>()
         : to == 1 ? float_to_float<1, from>()
         : to == 2 ? float_to_float<2, from>()
                   : float_to_float<3, from>();
}

template <class I, int from>
Handler float_to_integer() {
  using A = std::conditional_t<from == 3, std::uint64_t, U>;
  return unary<I, A>([](A a, const Instruction& n) {
    return ptx::float_to_integer<I>(flushed_source(number<from>(a), n), static_cast<Round>(n.mode), from == 3);
  });
}
template <class I>
Handler float_to_integer_of(int from) {
  return from == 0   ? float_to_integer<I, 0>()
         : from == 1 ? float_to_integer<I, 1>()
         : from == 2 ? float_to_integer<I, 2>()
                     : float_to_integer<I, 3>();
}

template <class I>
Handler integer_to_float_of(int to) {
  if (to == 2)
    return unary<float, I>([](I a, const Instruction& n) {
      const float x = ptx::integer_to_f32(a, static_cast<Round>(n.mode));
      return (n.flags & sat_flag) != 0 ? ptx::saturated01(x) : x;
    });
  if (to == 3) return unary<double, I>([](I a) { return static_cast<double>(a); });
  // Of 64 bits a double is rounded already; what it lost is added to odd.
  if (to == 0)
    return unary<U, I>([](I a, const Instruction& n) {
      const auto high = static_cast<double>(a);
      const auto rest = static_cast<double>(static_cast<ptx::Int128>(a) - static_cast<ptx::Int128>(high));
      return U{ptx::to_half(formats::fp16, ptx::to_odd(high, rest), static_cast<Round>(n.mode))};
    });
  return unary<U, I>([](I a, const Instruction& n) {
    const auto high = static_cast<double>(a);
    const auto rest = static_cast<double>(static_cast<ptx::Int128>(a) - static_cast<ptx::Int128>(high));
    return U{ptx::to_half(formats::bf16, ptx::to_odd(high, rest), static_cast<Round>(n.mode))};
  });
}

template <class To, class From>
Handler integer_to_integer() {
  return unary<To, From>([](From a, const Instruction& n) {
    if ((n.flags & sat_flag) == 0) return static_cast<To>(a);
    const auto x = static_cast<ptx::Int128>(a);
    const ptx::Int128 low = std::numeric_limits<To>::min(), high = std::numeric_limits<To>::max();
    return static_cast<To>(x < low ? low : x > high ? high : x);
  });
}

/// make.operator()<T>() for the integer type t of 8 to 64 bits.
template <class Make>
Handler any_integer(const Decoder& d, const Type& t, const Make& make) {
  if (t.bits == 8)
    return t.kind == Kind::s ? make.template operator()<std::int8_t>() : make.template operator()<std::uint8_t>();
  return by_integer_type(d, t, make);
}

/// cvt.rn.f16x2.f32 d, a, b: a goes to the upper half.
void packed(Decoder& d, Instruction& i, const Type& to) {
  d.operands(3, 3);
  i.d = d.out(0, to);
  i.a = d.in(1, {Kind::f, 32});
  i.b = d.in(2, {Kind::f, 32});
  const auto make = []<int kind>() {
    return binary<U, float, float>([](float a, float b, const Instruction& n) {
      return rounded<kind>(static_cast<double>(a), n) << 16 | rounded<kind>(static_cast<double>(b), n);
    });
  };
  i.run = to.kind == Kind::bf ? make.operator()<1>() : make.operator()<0>();
}

void cvt(Decoder& d, Instruction& i) {
  static constexpr Round rounds[] = {Round::nearest_even, Round::toward_zero, Round::down, Round::up};
  const Type from = d.type(), to = d.type();
  const int integral = d.one_of({"rni", "rzi", "rmi", "rpi"}), r = d.one_of({"rn", "rz", "rm", "rp"});
  i.mode = static_cast<std::uint8_t>(rounds[integral >= 0 ? integral : r >= 0 ? r : 0]);
  i.target = integral >= 0 ? 1 : 0;
  if (d.flag("ftz")) i.flags |= ftz_flag;
  if (d.flag("sat")) i.flags |= sat_flag;
  if (d.flag("relu")) i.flags |= relu_flag;
  if (to.vector == 2 && from.kind == Kind::f && from.bits == 32) return packed(d, i, to);
  d.operands(2, 2);
  i.d = d.out(0, to);
  i.a = d.in(1, from);
  if (to.kind == Kind::s && d.register_bits(d.operand(0)) > to.bits)
    d.fail("a signed type narrower than its register is not known here");
  if (is_integer(to) && is_integer(from)) {
    i.run = any_integer(d, to, [&]<class To>() {
      return any_integer(d, from, []<class From>() { return integer_to_integer<To, From>(); });
    });
  } else if (is_integer(to)) {
    if (integral < 0) d.fail(".rni, .rzi, .rmi or .rpi is expected");
    i.run = any_integer(d, to, [&]<class To>() { return float_to_integer_of<To>(kind_of(d, from)); });
  } else if (is_integer(from)) {
    if (to.kind == Kind::f && to.bits == 64 && i.mode != 0) d.fail("in f64 the machine has .rn alone");
    i.run = any_integer(d, from, [&]<class From>() { return integer_to_float_of<From>(kind_of(d, to)); });
  } else {
    const int k = kind_of(d, from);
    i.run = k == 0   ? float_to_float_of<0>(kind_of(d, to))
            : k == 1 ? float_to_float_of<1>(kind_of(d, to))
            : k == 2 ? float_to_float_of<2>(kind_of(d, to))
                     : float_to_float_of<3>(kind_of(d, to));
  }
}

}  // namespace

void add_convert(Families& families) { families["cvt"] = cvt; }

}  // namespace assay::gpu
