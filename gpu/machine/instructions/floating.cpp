#include "gpu/machine/lanewise.hpp"
#include "reference/ptx/approximate.hpp"

// Floating-point arithmetic. integer.cpp comes here for the mnemonics that both have.
namespace assay::gpu {

void decode_floating(Decoder& d, Instruction& i, const Type& t);

namespace {

using ptx::Modifiers;
using U = std::uint32_t;

constexpr std::uint8_t ftz_flag = 8, sat_flag = 16, relu_flag = 32, nan_flag = 64, abs_flag = 128;

Modifiers modifiers(const Instruction& n) {
  return {static_cast<Round>(n.mode), (n.flags & ftz_flag) != 0, (n.flags & sat_flag) != 0};
}

/// .rn .rz .rm .rp .ftz .sat: whether it is the plain form, .rn without more.
bool take_modifiers(Decoder& d, Instruction& i) {
  static constexpr Round rounds[] = {Round::nearest_even, Round::toward_zero, Round::down, Round::up};
  const int r = d.one_of({"rn", "rz", "rm", "rp"});
  i.mode = static_cast<std::uint8_t>(rounds[r < 0 ? 0 : r]);
  if (d.flag("ftz")) i.flags |= ftz_flag;
  if (d.flag("sat")) i.flags |= sat_flag;
  return r <= 0 && i.flags == 0;
}

/// The exact result of an operation on two numbers, to odd: what is rounded once afterwards is right.
double add2(double a, double b) { return ptx::add_odd(a, b); }
double sub2(double a, double b) { return ptx::add_odd(a, -b); }
double mul2(double a, double b) { return a * b; }

/// One half of a register in f16 or bf16: `make` gives its double value.
template <bool bf>
constexpr const Format& half_format() {
  return bf ? formats::bf16 : formats::fp16;
}
template <bool bf>
double half(U register_, int k) {
  return decode(half_format<bf>(), register_ >> (16 * k) & 0xffff);
}
template <bool bf>
U half_result(double x, const Instruction& n) {
  if ((n.flags & sat_flag) != 0) x = ptx::saturated01(x);
  if ((n.flags & relu_flag) != 0 && x < 0) x = 0;
  return ptx::to_half(half_format<bf>(), x, static_cast<Round>(n.mode));
}

template <bool bf, int n, class F>
Handler half_binary(F) {
  return binary<U, U, U>([](U a, U b, const Instruction& i) {
    U d = 0;
    for (int k = 0; k < n; ++k) d |= half_result<bf>(F{}(half<bf>(a, k), half<bf>(b, k)), i) << (16 * k);
    return d;
  });
}
template <class F>
Handler half_binary_of(const Type& t, F f) {
  if (t.kind == Kind::bf) return t.vector == 2 ? half_binary<true, 2>(f) : half_binary<true, 1>(f);
  return t.vector == 2 ? half_binary<false, 2>(f) : half_binary<false, 1>(f);
}
template <bool bf, int n>
Handler half_fma() {
  return ternary<U, U, U, U>([](U a, U b, U c, const Instruction& i) {
    U d = 0;
    for (int k = 0; k < n; ++k)
      d |= half_result<bf>(ptx::fma_odd(half<bf>(a, k), half<bf>(b, k), half<bf>(c, k)), i) << (16 * k);
    return d;
  });
}

void two(Decoder& d, Instruction& i, const Type& t, const std::string& op) {
  take_operands(d, i, 2, t);
  if (t.kind == Kind::bf || t.bits == 16) {
    i.run = op == "add"   ? half_binary_of(t, [](double a, double b) { return add2(a, b); })
            : op == "sub" ? half_binary_of(t, [](double a, double b) { return sub2(a, b); })
                          : half_binary_of(t, [](double a, double b) { return mul2(a, b); });
    return;
  }
  const bool plain = i.mode == 0 && i.flags == 0;
  if (t.bits == 64 && !plain) {
    const auto with = [](auto f) { return binary<double, double, double>(f); };
    i.run = op == "add"   ? with([](double a, double b, const Instruction& n) { return ptx::add(a, b, modifiers(n)); })
            : op == "sub" ? with([](double a, double b, const Instruction& n) { return ptx::sub(a, b, modifiers(n)); })
                          : with([](double a, double b, const Instruction& n) { return ptx::mul(a, b, modifiers(n)); });
  } else if (t.bits == 64) {
    i.run = op == "add"   ? binary<double, double, double>([](double a, double b) { return a + b; })
            : op == "sub" ? binary<double, double, double>([](double a, double b) { return a - b; })
                          : binary<double, double, double>([](double a, double b) { return a * b; });
  } else if (plain) {  // the same as with Modifiers{}: one operation of float is rounded once
    i.run = op == "add"   ? binary<float, float, float>([](float a, float b) { return a + b; })
            : op == "sub" ? binary<float, float, float>([](float a, float b) { return a - b; })
                          : binary<float, float, float>([](float a, float b) { return a * b; });
  } else {
    i.run = op == "add" ? binary<float, float, float>(
                              [](float a, float b, const Instruction& n) { return ptx::add(a, b, modifiers(n)); })
            : op == "sub" ? binary<float, float, float>(
                                [](float a, float b, const Instruction& n) { return ptx::sub(a, b, modifiers(n)); })
                          : binary<float, float, float>(
                                [](float a, float b, const Instruction& n) { return ptx::mul(a, b, modifiers(n)); });
  }
}

void fused(Decoder& d, Instruction& i, const Type& t) {
  if (d.flag("relu")) i.flags |= relu_flag;
  const bool plain = i.mode == 0 && i.flags == 0;
  take_operands(d, i, 3, t);
  if (t.kind == Kind::bf || t.bits == 16) {
    i.run = t.kind == Kind::bf ? (t.vector == 2 ? half_fma<true, 2>() : half_fma<true, 1>())
                               : (t.vector == 2 ? half_fma<false, 2>() : half_fma<false, 1>());
  } else if (t.bits == 64) {
    i.run = ternary<double, double, double, double>(
        [](double a, double b, double c, const Instruction& n) { return ptx::fma(a, b, c, modifiers(n)); });
  } else if (plain) {
    i.run = ternary<float, float, float, float>([](float a, float b, float c) { return ptx::fma(a, b, c); });
  } else {
    i.run = ternary<float, float, float, float>(
        [](float a, float b, float c, const Instruction& n) { return ptx::fma(a, b, c, modifiers(n)); });
  }
}

/// The reading that the machine runs under.
ptx::Approximation approximation(const Warp& w) {
  const Options& o = w.cta.grid.options;
  return {o.approximate == Approximate::adversarial, o.seed};
}
/// An approximate instruction: f(operand, instruction, reading) for each lane.
template <class D, class A, class F>
Handler approximate_unary(F) {
  return [](Warp& w, const Instruction& n, Mask active) {
    const ptx::Approximation how = approximation(w);
    const auto* a = w.in<Cell<A>>(n.a);
    auto* d = w.out<Cell<D>>(n.d);
    for_lanes(active, [&](int l) { d[l] = cell_of<D>(F{}(value_of<A>(a[l]), n, how)); });
    w.define(n.d, active, w.defined(n.a));
    return Step::next;
  };
}
template <float (*divide)(float, float, const Modifiers&, const ptx::Approximation&)>
Step approximate_quotient(Warp& w, const Instruction& n, Mask active) {
  const ptx::Approximation how = approximation(w);
  const auto *a = w.in<U>(n.a), *b = w.in<U>(n.b);
  auto* d = w.out<U>(n.d);
  for_lanes(active, [&](int l) { d[l] = ptx::bits(divide(ptx::f32(a[l]), ptx::f32(b[l]), modifiers(n), how)); });
  w.define(n.d, active, w.defined(n.a) & w.defined(n.b));
  return Step::next;
}

void divide(Decoder& d, Instruction& i, const Type& t) {
  const bool approx = d.flag("approx"), full = d.flag("full");
  take_operands(d, i, 2, t);
  if (t.bits == 64) {
    i.run = binary<double, double, double>(
        [](double a, double b, const Instruction& n) { return ptx::div(a, b, modifiers(n)); });
  } else if (approx || full) {
    i.run = approx ? approximate_quotient<ptx::div_approx> : approximate_quotient<ptx::div_full>;
  } else {
    i.run = binary<float, float, float>(
        [](float a, float b, const Instruction& n) { return ptx::div(a, b, modifiers(n)); });
  }
}

/// min and max; .NaN, .xorsign.abs, and abs and neg, which are bits alone.
void extreme(Decoder& d, Instruction& i, const Type& t, bool is_max) {
  if (d.flag("NaN")) i.flags |= nan_flag;
  if (d.flag("xorsign") && d.flag("abs")) i.flags |= abs_flag;
  take_operands(d, i, 2, t);
  if (t.kind == Kind::bf || t.bits == 16) {
    if ((i.flags & abs_flag) != 0) d.fail(".xorsign.abs is known for f32 alone");
    if ((i.flags & nan_flag) != 0)
      i.run = is_max ? half_binary_of(t, [](double a, double b) { return ptx::max(a, b, true); })
                     : half_binary_of(t, [](double a, double b) { return ptx::min(a, b, true); });
    else
      i.run = is_max ? half_binary_of(t, [](double a, double b) { return ptx::max(a, b, false); })
                     : half_binary_of(t, [](double a, double b) { return ptx::min(a, b, false); });
    return;
  }
  if (t.bits == 64) {
    i.run = is_max ? binary<double, double, double>([](double a, double b) { return ptx::max(a, b, false); })
                   : binary<double, double, double>([](double a, double b) { return ptx::min(a, b, false); });
    return;
  }
  i.flags = static_cast<std::uint8_t>(i.flags | (is_max ? 1 : 0));
  i.run = binary<float, float, float>([](float a, float b, const Instruction& n) {
    const Modifiers m = modifiers(n);
    a = ptx::operand(a, m);
    b = ptx::operand(b, m);
    const bool nan = (n.flags & nan_flag) != 0, is_max_of = (n.flags & 1) != 0;
    if ((n.flags & abs_flag) != 0) return is_max_of ? ptx::max_xorsign(a, b, nan) : ptx::min_xorsign(a, b, nan);
    return is_max_of ? ptx::max(a, b, nan) : ptx::min(a, b, nan);
  });
}

void sign(Decoder& d, Instruction& i, const Type& t, bool is_neg) {
  take_operands(d, i, 1, t);
  i.flags = static_cast<std::uint8_t>(i.flags & ~ftz_flag);
  if (t.bits == 64)
    i.run = is_neg ? unary<std::uint64_t, std::uint64_t>([](std::uint64_t a) { return a ^ std::uint64_t{1} << 63; })
                   : unary<std::uint64_t, std::uint64_t>([](std::uint64_t a) { return a & ~(std::uint64_t{1} << 63); });
  else if (t.bits == 32)
    i.run = is_neg ? unary<float, float>([](float a) { return -a; })
                   : unary<float, float>([](float a) { return std::fabs(a); });
  else if (t.vector == 2)
    i.run =
        is_neg ? unary<U, U>([](U a) { return a ^ 0x80008000U; }) : unary<U, U>([](U a) { return a & 0x7fff7fffU; });
  else
    i.run = is_neg ? unary<U, U>([](U a) { return a ^ 0x8000U; }) : unary<U, U>([](U a) { return a & 0x7fffU; });
}

void fma(Decoder& d, Instruction& i) {
  const Type t = d.type();
  take_modifiers(d, i);
  fused(d, i, t);
}

/// rcp, sqrt, rsqrt and the elementary functions. Of f32 rcp and sqrt are rounded unless they are .approx; the halves
/// have ex2 and tanh.
template <ptx::Function f, double (*f64)(double, const Modifiers&)>
void one(Decoder& d, Instruction& i) {
  const Type t = d.type();
  const bool approx = d.flag("approx");
  take_modifiers(d, i);
  if (approx) i.mode = static_cast<std::uint8_t>(Round::nearest_even);
  take_operands(d, i, 1, t);
  if (t.bits == 64) {
    if (f64 == nullptr) d.fail("not in f64 here");
    i.run = unary<double, double>([](double a, const Instruction& n) { return f64(a, modifiers(n)); });
  } else if (t.bits == 32 && t.kind == Kind::f) {
    if (!approx && f == ptx::Function::rcp)
      i.run = unary<float, float>([](float a, const Instruction& n) { return ptx::rcp(a, modifiers(n)); });
    else if (!approx && f == ptx::Function::sqrt)
      i.run = unary<float, float>([](float a, const Instruction& n) { return ptx::sqrt(a, modifiers(n)); });
    else
      i.run = approximate_unary<float, float>([](float a, const Instruction& n, const ptx::Approximation& how) {
        return ptx::approximate(f, a, modifiers(n), how);
      });
  } else {
    if (f != ptx::Function::ex2 && f != ptx::Function::tanh) d.fail("of f16 and bf16 there are ex2 and tanh");
    const auto make = []<bool bf, int n>() {
      return approximate_unary<U, U>([](U a, const Instruction& m, const ptx::Approximation& how) {
        U y = 0;
        for (int k = 0; k < n; ++k)
          y |= U{ptx::half_approximate(f, half_format<bf>(), a >> (16 * k) & 0xffff, modifiers(m), how)} << (16 * k);
        return y;
      });
    };
    i.run = t.kind == Kind::bf
                ? (t.vector == 2 ? make.template operator()<true, 2>() : make.template operator()<true, 1>())
                : (t.vector == 2 ? make.template operator()<false, 2>() : make.template operator()<false, 1>());
  }
}

double rsqrt64(double a, const Modifiers&) { return 1 / std::sqrt(a); }

void copysign(Decoder& d, Instruction& i) {
  const Type t = d.type();
  take_operands(d, i, 2, t);
  i.run = t.bits == 64 ? binary<double, double, double>([](double a, double b) { return std::copysign(b, a); })
                       : binary<float, float, float>([](float a, float b) { return std::copysign(b, a); });
}

void testp(Decoder& d, Instruction& i) {
  const int what = d.one_of({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  const Type t = d.type();
  d.operands(2, 2);
  i.d.at = d.predicate(d.operand(0));
  i.a = d.in(1, t);
  i.mode = static_cast<std::uint8_t>(what < 0 ? 0 : what);
  if (what < 0) d.fail("a property such as .finite is expected");
  const auto make = []<class T>() -> Handler {
    return [](Warp& w, const Instruction& n, Mask active) {
      const auto* a = w.in<Cell<T>>(n.a);
      Mask value = 0;
      for_lanes(active, [&](int l) {
        const T x = value_of<T>(a[l]);
        value |= static_cast<Mask>(ptx::testp(static_cast<ptx::Property>(n.mode), x) ? 1U : 0U) << l;
      });
      w.set_predicate(n.d.at, active, value, w.defined(n.a));
      return Step::next;
    };
  };
  i.run = t.bits == 64 ? make.operator()<double>() : make.operator()<float>();
}

}  // namespace

void decode_floating(Decoder& d, Instruction& i, const Type& t) {
  const std::string& op = d.s.opcode;
  take_modifiers(d, i);
  if (op == "add" || op == "sub" || op == "mul") return two(d, i, t, op);
  if (op == "mad") return fused(d, i, t);
  if (op == "div") return divide(d, i, t);
  if (op == "min" || op == "max") return extreme(d, i, t, op == "max");
  if (op == "abs" || op == "neg") return sign(d, i, t, op == "neg");
  d.fail("not known for floats");
}

void add_floating(Families& families) {
  families["fma"] = fma;
  families["rcp"] = one<ptx::Function::rcp, ptx::rcp<double>>;
  families["sqrt"] = one<ptx::Function::sqrt, ptx::sqrt<double>>;
  families["rsqrt"] = one<ptx::Function::rsqrt, rsqrt64>;
  families["ex2"] = one<ptx::Function::ex2, nullptr>;
  families["lg2"] = one<ptx::Function::lg2, nullptr>;
  families["sin"] = one<ptx::Function::sin, nullptr>;
  families["cos"] = one<ptx::Function::cos, nullptr>;
  families["tanh"] = one<ptx::Function::tanh, nullptr>;
  families["copysign"] = copysign;
  families["testp"] = testp;
}

}  // namespace assay::gpu
