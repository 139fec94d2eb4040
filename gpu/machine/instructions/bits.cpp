#include "gpu/machine/lanewise.hpp"
#include "reference/ptx/integer.hpp"

// Logic, shifts and bit fields; and, or, xor and not take predicates too.
namespace assay::gpu {
namespace {

using U = std::uint32_t;
constexpr Type b32{Kind::b, 32}, u32{Kind::u, 32};

enum class Logic : std::uint8_t { land, lor, lxor };

/// and.pred p, a, b: both may be negated.
template <Logic op>
void predicates(Decoder& d, Instruction& i) {
  d.operands(3, 3);
  i.d.at = d.predicate(d.operand(0));
  i.a.at = d.predicate(d.operand(1));
  i.b.at = d.predicate(d.operand(2));
  i.flags = static_cast<std::uint8_t>((d.operand(1).negated ? 1 : 0) | (d.operand(2).negated ? 2 : 0));
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    const Mask a = (n.flags & 1) != 0 ? ~w.predicate(n.a.at) : w.predicate(n.a.at);
    const Mask b = (n.flags & 2) != 0 ? ~w.predicate(n.b.at) : w.predicate(n.b.at);
    const Mask known_a = w.predicate_defined(n.a.at), known_b = w.predicate_defined(n.b.at);
    // false and x is false whatever x is, true or x is true.
    Mask known = known_a & known_b;
    if (op == Logic::land) known |= (known_a & ~a) | (known_b & ~b);
    if (op == Logic::lor) known |= (known_a & a) | (known_b & b);
    w.set_predicate(n.d.at, active, op == Logic::land ? a & b : op == Logic::lor ? a | b : a ^ b, known);
    return Step::next;
  };
}

template <Logic op>
void logic(Decoder& d, Instruction& i) {
  const Type t = d.type();
  if (t.kind == Kind::pred) return predicates<op>(d, i);
  take_operands(d, i, 2, t);
  i.run = by_integer_type(d, t, []<class T>() {
    return binary<T, T, T>([](T a, T b) {
      return static_cast<T>(op == Logic::land ? a & b : op == Logic::lor ? a | b : a ^ b);
    });
  });
}

void not_(Decoder& d, Instruction& i) {
  const Type t = d.type();
  if (t.kind == Kind::pred) {
    d.operands(2, 2);
    i.d.at = d.predicate(d.operand(0));
    i.a.at = d.predicate(d.operand(1));
    i.run = [](Warp& w, const Instruction& n, Mask active) {
      w.set_predicate(n.d.at, active, ~w.predicate(n.a.at), w.predicate_defined(n.a.at));
      return Step::next;
    };
    return;
  }
  take_operands(d, i, 1, t);
  i.run = by_integer_type(d, t, []<class T>() { return unary<T, T>([](T a) { return static_cast<T>(~a); }); });
}

void cnot(Decoder& d, Instruction& i) {
  const Type t = d.type();
  take_operands(d, i, 1, t);
  i.run =
      by_integer_type(d, t, []<class T>() { return unary<T, T>([](T a) { return static_cast<T>(a == 0 ? 1 : 0); }); });
}

void shl(Decoder& d, Instruction& i) {
  const Type t = d.type();
  d.operands(3, 3);
  i.d = d.out(0, t);
  i.a = d.in(1, t);
  i.b = d.in(2, u32);
  i.run = by_integer_type(d, t, []<class T>() { return binary<T, T, U>([](T a, U b) { return ptx::shl(a, b); }); });
}
void shr(Decoder& d, Instruction& i) {
  const Type t = d.type();
  d.operands(3, 3);
  i.d = d.out(0, t);
  i.a = d.in(1, t);
  i.b = d.in(2, u32);
  i.run = by_integer_type(d, t, []<class T>() { return binary<T, T, U>([](T a, U b) { return ptx::shr(a, b); }); });
}

void shf(Decoder& d, Instruction& i) {
  const bool right = d.one_of({"l", "r"}) == 1, wrap = d.one_of({"clamp", "wrap"}) == 1;
  take_operands(d, i, 3, d.type());
  i.mode = wrap ? 1 : 0;
  i.run =
      right ? ternary<U, U, U, U>([](U a, U b, U c, const Instruction& n) { return ptx::shf_r(a, b, c, n.mode != 0); })
            : ternary<U, U, U, U>([](U a, U b, U c, const Instruction& n) { return ptx::shf_l(a, b, c, n.mode != 0); });
}

void lop3(Decoder& d, Instruction& i) {
  const Type t = d.type();
  d.operands(5, 5);
  i.d = d.out(0, t);
  i.a = d.in(1, t);
  i.b = d.in(2, t);
  i.c = d.in(3, t);
  i.mode = static_cast<std::uint8_t>(d.integer(d.operand(4)));
  i.run = ternary<U, U, U, U>([](U a, U b, U c, const Instruction& n) { return ptx::lop3(a, b, c, n.mode); });
}

void prmt(Decoder& d, Instruction& i) {
  const int mode = d.one_of({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  d.type();
  take_operands(d, i, 3, b32);
  i.mode = static_cast<std::uint8_t>(mode < 0 ? 0 : mode);
  i.run = mode < 0 ? ternary<U, U, U, U>([](U a, U b, U c) { return ptx::prmt(a, b, c); })
                   : ternary<U, U, U, U>([](U a, U b, U c, const Instruction& n) {
                       return ptx::prmt(a, b, c, static_cast<ptx::Permute>(n.mode));
                     });
}

void bfe(Decoder& d, Instruction& i) {
  const Type t = d.type();
  d.operands(4, 4);
  i.d = d.out(0, t);
  i.a = d.in(1, t);
  i.b = d.in(2, u32);
  i.c = d.in(3, u32);
  i.run = by_integer_type(
      d, t, []<class T>() { return ternary<T, T, U, U>([](T a, U b, U c) { return ptx::bfe(a, b, c); }); });
}

void bfi(Decoder& d, Instruction& i) {
  const Type t = d.type();
  d.operands(5, 5);
  i.d = d.out(0, t);
  i.a = d.in(1, t);
  i.b = d.in(2, t);
  i.c = d.in(3, u32);
  i.more = d.list({d.in(4, u32)});
  const auto make = []<class T>() -> Handler {
    return [](Warp& w, const Instruction& n, Mask active) {
      const Ref length = w.frame->code->lists[static_cast<std::size_t>(n.more)][0];
      const auto *a = w.in<Cell<T>>(n.a), *b = w.in<Cell<T>>(n.b);
      const auto *pos = w.in<U>(n.c), *len = w.in<U>(length);
      auto* to = w.out<Cell<T>>(n.d);
      for_lanes(active, [&](int l) { to[l] = ptx::bfi(a[l], b[l], pos[l], len[l]); });
      w.define(n.d, active, w.defined(n.a) & w.defined(n.b) & w.defined(n.c) & w.defined(length));
      return Step::next;
    };
  };
  if (t.bits < 32) d.fail("a type of 32 or 64 bits is expected");
  i.run = t.bits == 64 ? make.operator()<std::uint64_t>() : make.operator()<U>();
}

void brev(Decoder& d, Instruction& i) {
  const Type t = d.type();
  take_operands(d, i, 1, t);
  i.run = t.bits == 64 ? unary<std::uint64_t, std::uint64_t>([](std::uint64_t a) { return ptx::brev(a); })
                       : unary<U, U>([](U a) { return ptx::brev(a); });
}

void bmsk(Decoder& d, Instruction& i) {
  const bool wrap = d.one_of({"clamp", "wrap"}) == 1;
  take_operands(d, i, 2, d.type());
  i.run = wrap ? binary<U, U, U>([](U a, U b) { return ptx::bmsk(a, b, true); })
               : binary<U, U, U>([](U a, U b) { return ptx::bmsk(a, b, false); });
}

void szext(Decoder& d, Instruction& i) {
  const bool wrap = d.one_of({"clamp", "wrap"}) == 1;
  const Type t = d.type();
  d.operands(3, 3);
  i.d = d.out(0, t);
  i.a = d.in(1, t);
  i.b = d.in(2, u32);
  i.mode = wrap ? 1 : 0;
  if (t.bits != 32) d.fail("a type of 32 bits is expected");
  i.run = t.kind == Kind::s
              ? binary<std::int32_t, std::int32_t, U>(
                    [](std::int32_t a, U b, const Instruction& n) { return ptx::szext(a, b, n.mode != 0); })
              : binary<U, U, U>([](U a, U b, const Instruction& n) { return ptx::szext(a, b, n.mode != 0); });
}

void fns(Decoder& d, Instruction& i) {
  d.type();
  take_operands(d, i, 3, b32);
  i.run = ternary<U, U, U, std::int32_t>([](U a, U b, std::int32_t c) { return ptx::fns(a, b, c); });
}

}  // namespace

void add_bits(Families& families) {
  families["and"] = logic<Logic::land>;
  families["or"] = logic<Logic::lor>;
  families["xor"] = logic<Logic::lxor>;
  families["not"] = not_;
  families["cnot"] = cnot;
  families["shl"] = shl;
  families["shr"] = shr;
  families["shf"] = shf;
  families["lop3"] = lop3;
  families["prmt"] = prmt;
  families["bfe"] = bfe;
  families["bfi"] = bfi;
  families["brev"] = brev;
  families["bmsk"] = bmsk;
  families["szext"] = szext;
  families["fns"] = fns;
}

}  // namespace assay::gpu
