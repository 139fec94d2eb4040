#include "reference/ptx/compare.hpp"

#include "gpu/machine/lanewise.hpp"

// setp, set, selp, slct.
namespace assay::gpu {
namespace {

using ptx::Compare;
using U = std::uint32_t;

constexpr std::uint8_t ftz_flag = 8, not_c_flag = 16;
enum class Combine : std::uint8_t { none, with_and, with_or, with_xor };

/// The comparison of a mnemonic; `unsigned_` where it says lo, ls, hi or hs.
Compare take_compare(Decoder& d, bool& unsigned_) {
  const int k = d.one_of({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  if (k >= 0) return static_cast<Compare>(k);
  unsigned_ = true;
  static constexpr Compare of[] = {Compare::lt, Compare::le, Compare::gt, Compare::ge};
  const int u = d.one_of({"lo", "ls", "hi", "hs"});
  if (u < 0) d.fail("a comparison such as .lt is expected");
  return of[u];
}

/// The mask of lanes in which the comparison is true.
using Test = Mask (*)(const Warp&, const Instruction&, Mask active);
template <class T, bool ftz>
Mask test(const Warp& w, const Instruction& n, Mask active) {
  const auto *a = w.in<Cell<T>>(n.a), *b = w.in<Cell<T>>(n.b);
  const auto op = static_cast<Compare>(n.mode & 15);
  Mask value = 0;
  for_lanes(active, [&](int l) {
    T x = value_of<T>(a[l]), y = value_of<T>(b[l]);
    if constexpr (ftz) x = ptx::flushed(x), y = ptx::flushed(y);
    value |= static_cast<Mask>(ptx::compare(op, x, y) ? 1U : 0U) << l;
  });
  return value;
}
template <bool bf>
Mask test_half(const Warp& w, const Instruction& n, Mask active) {
  const auto *a = w.in<U>(n.a), *b = w.in<U>(n.b);
  const Format& f = bf ? formats::bf16 : formats::fp16;
  Mask value = 0;
  for_lanes(active, [&](int l) {
    const bool is = ptx::compare(static_cast<Compare>(n.mode & 15), decode(f, a[l] & 0xffff), decode(f, b[l] & 0xffff));
    value |= static_cast<Mask>(is ? 1U : 0U) << l;
  });
  return value;
}

/// Calls make with the test for a type: make.operator()<test>().
template <class Make>
Handler by_type(const Decoder& d, const Type& t, bool ftz, const Make& make) {
  if (t.vector != 1) d.fail("packed comparisons are not known here");
  if (t.kind == Kind::bf) return make.template operator()<test_half<true>>();
  if (t.kind == Kind::f && t.bits == 16) return make.template operator()<test_half<false>>();
  if (t.kind == Kind::f && t.bits == 64) return make.template operator()<test<double, false>>();
  if (t.kind == Kind::f)
    return ftz ? make.template operator()<test<float, true>>() : make.template operator()<test<float, false>>();
  return by_integer_type(d, t, [&]<class T>() { return make.template operator()<test<T, false>>(); });
}

Mask combined(Mask value, Mask c, Combine how) {
  switch (how) {
    case Combine::with_and:
      return value & c;
    case Combine::with_or:
      return value | c;
    case Combine::with_xor:
      return value ^ c;
    default:
      return value;
  }
}

/// The optional .and, .or, .xor and operand c of setp and set.
void take_combine(Decoder& d, Instruction& i, std::size_t k) {
  const int how = d.one_of({"and", "or", "xor"});
  d.operands(how < 0 ? k : k + 1, how < 0 ? k : k + 1);
  if (how < 0) return;
  i.mode = static_cast<std::uint8_t>(i.mode | (how + 1) << 4);
  i.c.at = d.predicate(d.operand(k));
  if (d.operand(k).negated) i.flags |= not_c_flag;
}
Mask third(const Warp& w, const Instruction& n) {
  return (n.flags & not_c_flag) != 0 ? ~w.predicate(n.c.at) : w.predicate(n.c.at);
}
Combine combine_of(const Instruction& n) { return static_cast<Combine>(n.mode >> 4); }

void setp(Decoder& d, Instruction& i) {
  Type t = d.type();
  bool unsigned_ = false;
  i.mode = static_cast<std::uint8_t>(take_compare(d, unsigned_));
  if (unsigned_) t.kind = Kind::u;
  const bool ftz = d.flag("ftz");
  take_combine(d, i, 3);
  const Operand& p = d.operand(0);
  const bool pair = p.what == Operand::What::pair;
  const auto slot = [&](const Operand& o) { return o.what == Operand::What::sink ? -1 : d.predicate(o); };
  i.d.at = slot(pair ? p.parts[0] : p);
  i.target = pair ? slot(p.parts[1]) : -1;
  i.a = d.in(1, t);
  i.b = d.in(2, t);
  i.run = by_type(d, t, ftz, []<Test test_of>() -> Handler {
    return [](Warp& w, const Instruction& n, Mask active) {
      const Mask value = test_of(w, n, active);
      Mask known = w.defined(n.a) & w.defined(n.b), c = 0;
      const Combine how = combine_of(n);
      if (how != Combine::none) {
        c = third(w, n);
        const Mask known_c = w.predicate_defined(n.c.at);
        Mask decided = 0;
        if (how == Combine::with_and) decided = (known & ~value) | (known_c & ~c);
        if (how == Combine::with_or) decided = (known & value) | (known_c & c);
        known = (known & known_c) | decided;
      }
      if (n.d.at >= 0) w.set_predicate(n.d.at, active, combined(value, c, how), known);
      if (n.target >= 0) w.set_predicate(n.target, active, combined(~value, c, how), known);
      return Step::next;
    };
  });
}

void set(Decoder& d, Instruction& i) {
  Type t = d.type();
  const Type to = d.type();
  bool unsigned_ = false;
  i.mode = static_cast<std::uint8_t>(take_compare(d, unsigned_));
  if (unsigned_) t.kind = Kind::u;
  const bool ftz = d.flag("ftz");
  take_combine(d, i, 3);
  if (to.bits != 32 || to.vector != 1) d.fail("a destination of 32 bits is expected");
  i.d = d.out(0, to);
  i.a = d.in(1, t);
  i.b = d.in(2, t);
  i.offset = to.kind == Kind::f ? 0x3f800000 : 0xffffffff;  // true is 1.0 or all ones
  i.run = by_type(d, t, ftz, []<Test test_of>() -> Handler {
    return [](Warp& w, const Instruction& n, Mask active) {
      Mask value = test_of(w, n, active), known = w.defined(n.a) & w.defined(n.b);
      if (combine_of(n) != Combine::none) {
        value = combined(value, third(w, n), combine_of(n));
        known &= w.predicate_defined(n.c.at);
      }
      U* to_lane = w.out<U>(n.d);
      for_lanes(active, [&](int l) { to_lane[l] = ptx::has(value, l) ? static_cast<U>(n.offset) : 0; });
      w.define(n.d, active, known);
      return Step::next;
    };
  });
}

void selp(Decoder& d, Instruction& i) {
  const Type t = d.type();
  d.operands(4, 4);
  i.d = d.out(0, t);
  i.a = d.in(1, t);
  i.b = d.in(2, t);
  i.c.at = d.predicate(d.operand(3));
  i.flags = d.operand(3).negated ? not_c_flag : 0;
  const auto make = []<class C>() -> Handler {
    return [](Warp& w, const Instruction& n, Mask active) {
      const C *a = w.in<C>(n.a), *b = w.in<C>(n.b);
      C* to = w.out<C>(n.d);
      const Mask p = third(w, n);
      for_lanes(active, [&](int l) { to[l] = ptx::has(p, l) ? a[l] : b[l]; });
      w.define(n.d, active, w.predicate_defined(n.c.at) & ((p & w.defined(n.a)) | (~p & w.defined(n.b))));
      return Step::next;
    };
  };
  i.run = t.bits == 64 ? make.operator()<std::uint64_t>() : make.operator()<U>();
}

/// slct: c >= 0 ? a : b
void slct(Decoder& d, Instruction& i) {
  const Type tc = d.type(), t = d.type();
  d.flag("ftz");
  d.operands(4, 4);
  i.d = d.out(0, t);
  i.a = d.in(1, t);
  i.b = d.in(2, t);
  i.c = d.in(3, tc);
  const auto make = []<class C, class S>() {
    return ternary<C, C, C, S>([](C a, C b, S c) { return c >= 0 ? a : b; });
  };
  if (tc.kind == Kind::f)
    i.run = t.bits == 64 ? make.operator()<std::uint64_t, float>() : make.operator()<U, float>();
  else
    i.run = t.bits == 64 ? make.operator()<std::uint64_t, std::int32_t>() : make.operator()<U, std::int32_t>();
}

}  // namespace

void add_compare(Families& families) {
  families["setp"] = setp;
  families["set"] = set;
  families["selp"] = selp;
  families["slct"] = slct;
}

}  // namespace assay::gpu
