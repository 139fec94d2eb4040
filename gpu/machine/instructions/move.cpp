#include "gpu/machine/lanewise.hpp"

// mov, with packing and special registers, and the conversions of addresses.
namespace assay::gpu {

namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;

Handler copy(int bits) {
  if (bits == 64) return unary<U64, U64>([](U64 a) { return a; });
  return unary<U, U>([](U a) { return a; });
}

/// mov.pred p, q
void mov_predicate(Decoder& d, Instruction& i) {
  i.d.at = d.predicate(d.operand(0));
  if (d.operand(1).what == Operand::What::immediate) {
    i.offset = d.integer(d.operand(1)) != 0 ? 0xffffffff : 0;
    i.run = [](Warp& w, const Instruction& n, Mask active) {
      w.set_predicate(n.d.at, active, static_cast<Mask>(n.offset), ptx::full_mask);
      return Step::next;
    };
    return;
  }
  i.a.at = d.predicate(d.operand(1));
  if (d.operand(1).negated) i.flags |= Instruction::negated;
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    const Mask p = w.predicate(n.a.at);
    w.set_predicate(n.d.at, active, (n.flags & Instruction::negated) != 0 ? ~p : p, w.predicate_defined(n.a.at));
    return Step::next;
  };
}

U64 cell_at(const Warp& w, Ref r, int bits, int lane) { return bits == 64 ? w.in<U64>(r)[lane] : w.in<U>(r)[lane]; }

/// mov.b64 d, {a, b}: a in the low bits.
void pack(Decoder& d, Instruction& i, const Type& t) {
  const std::vector<Operand>& parts = d.operand(1).parts;
  const int n = static_cast<int>(parts.size()), width = t.bits / std::max(n, 1);
  if ((n != 2 && n != 4) || width < 8 || t.bits > 64) d.fail("two or four parts of equal width are expected");
  std::vector<Ref> from;
  for (const Operand& o : parts) from.push_back(d.in(o, {Kind::b, width}));
  i.d = d.out(0, t);
  i.more = d.list(std::move(from));
  i.mode = static_cast<std::uint8_t>(width);
  i.target = t.bits;
  i.run = [](Warp& w, const Instruction& m, Mask active) {
    const std::vector<Ref>& sources = w.frame->code->lists[static_cast<std::size_t>(m.more)];
    Mask known = ptx::full_mask;
    for (const Ref r : sources) known &= w.defined(r);
    for_lanes(active, [&](int l) {
      U64 x = 0;
      for (std::size_t k = 0; k < sources.size(); ++k) x |= U64{w.in<U>(sources[k])[l]} << (k * m.mode);
      if (m.target == 64)
        w.out<U64>(m.d)[l] = x;
      else
        w.out<U>(m.d)[l] = static_cast<U>(x);
    });
    w.define(m.d, active, known);
    return Step::next;
  };
}

/// mov.b64 {a, b}, s
void unpack(Decoder& d, Instruction& i, const Type& t) {
  const std::vector<Operand>& parts = d.operand(0).parts;
  const int n = static_cast<int>(parts.size()), width = t.bits / std::max(n, 1);
  if ((n != 2 && n != 4) || width < 8 || t.bits > 64) d.fail("two or four parts of equal width are expected");
  i.a = d.in(1, t);
  std::vector<Ref> to;
  for (const Operand& o : parts) to.push_back(d.out(o, {Kind::b, width}));
  i.more = d.list(std::move(to));
  i.mode = static_cast<std::uint8_t>(width);
  i.target = t.bits;
  i.run = [](Warp& w, const Instruction& m, Mask active) {
    const std::vector<Ref>& into = w.frame->code->lists[static_cast<std::size_t>(m.more)];
    const Mask known = w.defined(m.a);
    const U64 ones = m.mode == 32 ? 0xffffffff : (U64{1} << m.mode) - 1;
    std::array<U64, 32> x{};
    for_lanes(active, [&](int l) { x[static_cast<std::size_t>(l)] = cell_at(w, m.a, m.target, l); });
    for (std::size_t k = 0; k < into.size(); ++k) {
      U* to_lane = w.out<U>(into[k]);
      for_lanes(active,
                [&](int l) { to_lane[l] = static_cast<U>(x[static_cast<std::size_t>(l)] >> (k * m.mode) & ones); });
      w.define(into[k], active, known);
    }
    return Step::next;
  };
}

/// A variable of the frame: its address depends on the frame.
void mov_local(Decoder& d, Instruction& i, const Type& t) {
  const Operand& o = d.operand(1);
  const auto k = static_cast<std::size_t>(o.index);
  i.offset = d.code.variable_offsets[k] + o.offset;
  i.d = d.out(0, t);
  const bool parameter = d.code.function->is_entry && static_cast<int>(k) < d.code.function->param_count;
  i.mode = static_cast<std::uint8_t>(t.bits);
  i.flags = parameter ? 0 : Instruction::in_frame;
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    const auto address =
        static_cast<U64>(n.offset + ((n.flags & Instruction::in_frame) != 0 ? w.frame->local_base : 0));
    for_lanes(active, [&](int l) {
      if (n.mode == 64)
        w.out<U64>(n.d)[l] = address;
      else
        w.out<U>(n.d)[l] = static_cast<U>(address);
    });
    w.define(n.d, active, ptx::full_mask);
    return Step::next;
  };
}

/// Clocks are virtual: they count the instructions of the CTA.
bool mov_clock(Decoder& d, Instruction& i, const Type& t) {
  const std::string& name = d.operand(1).text;
  if (name.rfind("%clock", 0) != 0 && name.rfind("%globaltimer", 0) != 0) return false;
  i.d = d.out(0, t);
  i.mode = static_cast<std::uint8_t>(t.bits);
  i.flags = name.ends_with("_hi") ? 1 : 0;
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    const U64 now = w.cta.steps;
    for_lanes(active, [&](int l) {
      if (n.mode == 64)
        w.out<U64>(n.d)[l] = now;
      else
        w.out<U>(n.d)[l] = static_cast<U>(n.flags != 0 ? now >> 32 : now);
    });
    w.define(n.d, active, ptx::full_mask);
    return Step::next;
  };
  return true;
}

void mov(Decoder& d, Instruction& i) {
  const Type t = d.type();
  d.operands(2, 2);
  if (t.kind == Kind::pred) return mov_predicate(d, i);
  const Operand& from = d.operand(1);
  if (from.what == Operand::What::vector) return pack(d, i, t);
  if (d.operand(0).what == Operand::What::vector) return unpack(d, i, t);
  if (from.what == Operand::What::variable && from.local) return mov_local(d, i, t);
  if (from.what == Operand::What::special && mov_clock(d, i, t)) return;
  if (t.bits > 64) d.fail("registers of 128 bits are not known here");
  i.d = d.out(0, t);
  i.a = from.what == Operand::What::function ? d.constant(Program::function_address(from.index), t.bits) : d.in(1, t);
  i.run = copy(t.bits);
}

/// cvta.space: to generic; cvta.to.space: from generic.
void cvta(Decoder& d, Instruction& i) {
  const bool to = d.flag("to");
  const int space = d.one_of({"global", "shared", "shared::cta", "local", "const", "param", "param::entry"});
  const Type t = d.type();
  if (space < 0) d.fail("a state space is expected");
  if (t.bits != 64) d.fail("addresses of 64 bits are expected");
  d.operands(2, 2);
  if (d.operand(1).what == Operand::What::variable && d.operand(1).local) d.fail("the address is taken by mov alone");
  i.d = d.out(0, t);
  i.a = d.in(1, t);
  const std::uint64_t window = space == 1 || space == 2 ? shared_window
                               : space == 3             ? local_window
                               : space >= 5             ? param_window
                                                        : 0;
  i.offset = static_cast<std::int64_t>(to ? 0 - window : window);
  i.run = unary<U64, U64>([](U64 a, const Instruction& n) { return a + static_cast<U64>(n.offset); });
}

void isspacep(Decoder& d, Instruction& i) {
  const int space = d.one_of({"global", "shared", "shared::cta", "local", "const", "param"});
  d.operands(2, 2);
  if (space < 0) d.fail("a state space is expected");
  i.d.at = d.predicate(d.operand(0));
  i.a = d.in(1, {Kind::b, 64});
  i.mode = static_cast<std::uint8_t>(space == 0   ? Space::global
                                     : space <= 2 ? Space::shared
                                     : space == 3 ? Space::local
                                     : space == 4 ? Space::constant
                                                  : Space::param);
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    const U64* a = w.in<U64>(n.a);
    Mask value = 0;
    U64 address = 0;
    for_lanes(active, [&](int l) {
      value |= static_cast<Mask>(Warp::space_of(a[l], address) == static_cast<Space>(n.mode) ? 1U : 0U) << l;
    });
    w.set_predicate(n.d.at, active, value, w.defined(n.a));
    return Step::next;
  };
}

}  // namespace

void fill_special(const std::string& name, const Warp& w, U* to) {
  const Dim &block = w.cta.grid.launch.block, &grid = w.cta.grid.launch.grid, &cta = w.cta.id;
  const auto of = [&](const Dim& x, char axis) {
    return axis == 'x' ? x.x : axis == 'y' ? x.y : axis == 'z' ? x.z : 0;
  };
  const char axis = name.size() > 2 && name[name.size() - 2] == '.' ? name.back() : ' ';
  const std::string stem = axis == ' ' ? name : name.substr(0, name.size() - 2);
  const auto warps = (block.x * block.y * block.z + 31) / 32;
  for (U l = 0; l < 32; ++l) {
    const U thread = static_cast<U>(w.number) * 32 + l;
    const Dim tid{thread % block.x, thread / block.x % block.y, thread / (block.x * block.y)};
    U x = 0;
    if (stem == "%tid") x = of(tid, axis);
    if (stem == "%ntid") x = of(block, axis);
    if (stem == "%ctaid") x = of(cta, axis);
    if (stem == "%nctaid") x = of(grid, axis);
    if (stem == "%laneid") x = l;
    if (stem == "%warpid") x = static_cast<U>(w.number);
    if (stem == "%nwarpid") x = warps;
    if (stem == "%smid") x = static_cast<U>(w.cta.order % 4);
    if (stem == "%nsmid") x = 4;
    if (stem == "%lanemask_eq") x = 1U << l;
    if (stem == "%lanemask_lt") x = (1U << l) - 1;
    if (stem == "%lanemask_le") x = (1U << l) | ((1U << l) - 1);
    if (stem == "%lanemask_gt") x = ~((1U << l) | ((1U << l) - 1));
    if (stem == "%lanemask_ge") x = ~((1U << l) - 1);
    if (stem == "%dynamic_smem_size") x = w.cta.grid.launch.dynamic_shared;
    if (stem == "%total_smem_size") x = w.cta.grid.shared_bytes;
    if (stem == "WARP_SZ") x = 32;
    to[l] = x;
  }
}

void add_move(Families& families) {
  families["mov"] = mov;
  families["cvta"] = cvta;
  families["isspacep"] = isspacep;
}

}  // namespace assay::gpu
