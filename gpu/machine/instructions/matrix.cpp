#include <algorithm>
#include <bit>
#include <cstring>

#include "gpu/machine/access.hpp"
#include "reference/ptx/mma.hpp"
#include "reference/ptx/mma_num.hpp"

// ldmatrix, stmatrix, movmatrix and mma.sync: the whole warp at once.
namespace assay::gpu {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;
constexpr Type b32{Kind::b, 32};

/// .aligned: the whole warp executes it.
bool whole(Warp& w, const Instruction& n, Mask active) {
  if (active == ptx::full_mask) return true;
  w.report("divergent", n, std::countr_zero(~active), "an .aligned instruction is executed by a part of the warp");
  w.cta.stopped = true;
  return false;
}

std::vector<Ref> registers(Decoder& d, std::size_t k, std::size_t count, bool destination) {
  const Operand& o = d.operand(k);
  const std::vector<Operand> parts = o.what == Operand::What::vector ? o.parts : std::vector<Operand>{o};
  if (parts.size() != count) d.fail(std::to_string(count) + " registers are expected");
  std::vector<Ref> refs;
  for (const Operand& part : parts) refs.push_back(destination ? d.out(part, b32) : d.in(part, b32));
  return refs;
}

/// Row i of matrix q is the 16 bytes at the address of lane 8 q + i.
Step load_matrix(Warp& w, const Instruction& n, Mask active) {
  if (!w.gathered(ptx::full_mask)) return Step::wait;
  if (!whole(w, n, active)) return Step::wait;
  const std::vector<Ref>& to = w.frame->code->lists[static_cast<std::size_t>(n.more)];
  const auto matrices = static_cast<int>(to.size());
  const Addresses at = addresses(w, n, n.a, matrices == 4 ? ptx::full_mask : (1U << (8 * matrices)) - 1);
  std::array<Spot, 32> rows{};
  for_lanes(at.known, [&](int l) {
    Spot& spot = rows[static_cast<std::size_t>(l)];
    spot = w.at(static_cast<Space>(n.mode), at[l], 16, false, n, l);
    if (spot.data != nullptr && !settled(w, n, l, spot.state, 16, false)) spot = {};
  });
  for (int q = 0; q < matrices; ++q) {
    U* register_ = w.out<U>(to[static_cast<std::size_t>(q)]);
    Mask known = ptx::full_mask;
    for (int l = 0; l < 32; ++l) {
      U x = 0;
      for (int j = 0; j < 2; ++j) {
        const ptx::Place p = ptx::place_in_8x8((n.flags & 8) != 0, l, j);
        const Spot& row = rows[static_cast<std::size_t>(8 * q + p.row)];
        std::uint16_t half = 0;
        if (row.data != nullptr) std::memcpy(&half, row.data + 2 * p.col, 2);
        if (row.data == nullptr || !all_are(row.state + 2 * p.col, 2, Byte::defined)) known &= ~(1U << l);
        x |= U{half} << (16 * j);
      }
      register_[l] = x;
    }
    w.define(to[static_cast<std::size_t>(q)], ptx::full_mask, known);
  }
  return Step::next;
}

Step store_matrix(Warp& w, const Instruction& n, Mask active) {
  if (!w.gathered(ptx::full_mask)) return Step::wait;
  if (!whole(w, n, active)) return Step::wait;
  const std::vector<Ref>& from = w.frame->code->lists[static_cast<std::size_t>(n.more)];
  const auto matrices = static_cast<int>(from.size());
  const Addresses at = addresses(w, n, n.a, matrices == 4 ? ptx::full_mask : (1U << (8 * matrices)) - 1);
  for_lanes(at.known, [&](int l) {
    const Spot row = w.at(static_cast<Space>(n.mode), at[l], 16, true, n, l);
    if (row.data == nullptr || !settled(w, n, l, row.state, 16, true)) return;
    const Ref r = from[static_cast<std::size_t>(l / 8)];
    for (int lane = 0; lane < 32; ++lane)
      for (int j = 0; j < 2; ++j) {
        const ptx::Place p = ptx::place_in_8x8((n.flags & 8) != 0, lane, j);
        if (p.row != l % 8) continue;
        const auto half = static_cast<std::uint16_t>(w.in<U>(r)[lane] >> (16 * j));
        std::memcpy(row.data + 2 * p.col, &half, 2);
        std::memset(row.state + 2 * p.col,
                    static_cast<int>(ptx::has(w.defined(r), lane) ? Byte::defined : Byte::undefined), 2);
      }
  });
  return Step::next;
}

void matrix(Decoder& d, Instruction& i, bool load) {
  d.flag("sync");
  d.flag("aligned");
  const int count = d.one_of({"x1", "x2", "x4"});
  if (d.flag("trans")) i.flags |= 8;
  if (!d.flag("m8n8") || count < 0) d.fail("the machine has .m8n8 with .x1, .x2 or .x4");
  if (d.type().bits != 16) d.fail(".b16 is expected");
  if (!load) d.needs(90, "stmatrix");
  Space space = take_space(d);
  d.operands(2, 2);
  const std::size_t address = load ? 1 : 0;
  std::uint8_t flags = i.flags;
  i.flags = 0;
  i.a = d.address(d.operand(address), i, space);
  i.flags |= flags;
  i.mode = static_cast<std::uint8_t>(space);
  i.more = d.list(registers(d, 1 - address, std::size_t{1} << count, load));
  i.run = load ? load_matrix : store_matrix;
}
void ldmatrix(Decoder& d, Instruction& i) { matrix(d, i, true); }
void stmatrix(Decoder& d, Instruction& i) { matrix(d, i, false); }

void movmatrix(Decoder& d, Instruction& i) {
  d.flag("sync");
  d.flag("aligned");
  if (!d.flag("m8n8") || !d.flag("trans")) d.fail("movmatrix.sync.aligned.m8n8.trans.b16 is expected");
  d.type();
  d.operands(2, 2);
  i.d = d.out(0, b32);
  i.a = d.in(1, b32);
  i.run = [](Warp& w, const Instruction& n, Mask active) {
    if (!w.gathered(ptx::full_mask)) return Step::wait;
    if (!whole(w, n, active)) return Step::wait;
    ptx::Reg32 a;
    std::copy_n(w.in<U>(n.a), 32, a.lane.begin());
    U* to = w.out<U>(n.d);
    Mask known = ptx::full_mask;
    const Mask from_known = w.defined(n.a);
    for (int l = 0; l < 32; ++l) {
      U x = 0;
      for (int j = 0; j < 2; ++j) {
        // Element (row, col) of the result is (col, row) of the source: half (row & 1) of lane 4 col + row / 2.
        const ptx::Place p = ptx::place_in_8x8(false, l, j);
        const int lane = 4 * p.col + p.row / 2;
        x |= (a[lane] >> (16 * (p.row & 1)) & 0xffff) << (16 * j);
        if (!ptx::has(from_known, lane)) known &= ~(1U << l);
      }
      to[l] = x;
    }
    w.define(n.d, ptx::full_mask, known);
    return Step::next;
  };
}

using ptx::Element;

/// Whose hardware `TensorCore::hardware` is.
ptx::Architecture architecture(const std::string& arch) {
  const int sm = std::stoi(arch.substr(3));
  return sm < 89    ? ptx::Architecture::ampere
         : sm < 90  ? ptx::Architecture::ada
         : sm < 100 ? ptx::Architecture::hopper
         : sm < 120 ? ptx::Architecture::blackwell
                    : ptx::Architecture::rtx_blackwell;
}

/// D = A B + C of floats. mode: the elements of A and B; flags 8: C and D in f16; offset: the architecture. The
/// registers D, A, B, C are one list.
template <int K>
Step multiply(Warp& w, const Instruction& n, Mask active) {
  if (!w.gathered(ptx::full_mask)) return Step::wait;
  if (!whole(w, n, active)) return Step::wait;
  const std::vector<Ref>& all = w.frame->code->lists[static_cast<std::size_t>(n.more)];
  const auto type = static_cast<Element>(n.mode);
  const int bits = ptx::element_bits(type), e = 32 / bits, na = 2 * K / (4 * e), nb = K / (4 * e);
  const bool half = (n.flags & 8) != 0;
  const int nc = half ? 2 : 4;
  const Ref *rd = all.data(), *ra = rd + nc, *rb = ra + na, *rc = rb + nb;
  double a[16][K], b[8][K];
  U c[16][8];
  Mask known = ptx::full_mask;
  // A row of the result needs its row of A, a column its column of B: an undefined register spoils those alone.
  std::uint32_t bad_rows = 0, bad_cols = 0;
  for (int r = 0; r < na; ++r) {
    const U* x = w.in<U>(ra[r]);
    for (int l = 0; l < 32; ++l)
      for (int j = 0; j < e; ++j) {
        const ptx::Place p = ptx::place_in_a(bits, l, r, j);
        a[p.row][p.col] = ptx::float_element(type, ptx::element_code(type, x[l], j));
        if (!ptx::has(w.defined(ra[r]), l)) bad_rows |= 1U << p.row;
      }
  }
  for (int r = 0; r < nb; ++r) {
    const U* x = w.in<U>(rb[r]);
    for (int l = 0; l < 32; ++l)
      for (int j = 0; j < e; ++j) {
        const ptx::Place p = ptx::place_in_b(bits, l, r, j);
        b[p.col][p.row] = ptx::float_element(type, ptx::element_code(type, x[l], j));
        if (!ptx::has(w.defined(rb[r]), l)) bad_cols |= 1U << p.col;
      }
  }
  for (int i = 0; i < 4; ++i)
    for (int l = 0; l < 32; ++l) {
      const ptx::Place p = ptx::place_in_c(l, i);
      const U x = w.in<U>(rc[half ? i / 2 : i])[l];
      c[p.row][p.col] = half ? x >> (16 * (i & 1)) & 0xffff : x;
    }
  const ptx::Mma form{16, K, type, type, half};
  const ptx::Arithmetic how{static_cast<ptx::Reading>(w.cta.grid.options.tensor_core),
                            static_cast<ptx::Architecture>(n.offset)};
  for (int row = 0; row < 16; ++row)
    for (int col = 0; col < 8; ++col) c[row][col] = ptx::element_of_d(form, a[row], b[col], c[row][col], how);
  std::array<std::array<U, 32>, 4> d{};
  std::array<Mask, 4> defined{};
  for (int i = 0; i < 4; ++i)
    for (int l = 0; l < 32; ++l) {
      const ptx::Place p = ptx::place_in_c(l, i);
      const auto r = static_cast<std::size_t>(half ? i / 2 : i);
      d[r][static_cast<std::size_t>(l)] |= c[p.row][p.col] << (half ? 16 * (i & 1) : 0);
      const bool is = (bad_rows >> p.row & 1) == 0 && (bad_cols >> p.col & 1) == 0 && ptx::has(w.defined(rc[r]), l);
      if (!half || (i & 1) == 0)
        defined[r] |= static_cast<Mask>(is ? 1U : 0U) << l;
      else if (!is)
        defined[r] &= ~(1U << l);
    }
  for (int r = 0; r < nc; ++r) {
    std::copy_n(d[static_cast<std::size_t>(r)].begin(), 32, w.out<U>(rd[r]));
    w.define(rd[r], known, defined[static_cast<std::size_t>(r)]);
  }
  return Step::next;
}

void mma(Decoder& d, Instruction& i) {
  if (!d.flag("sync") || !d.flag("aligned")) d.fail("mma.sync.aligned is expected");
  const int shape = d.one_of({"m16n8k4", "m16n8k8", "m16n8k16"});
  if (shape < 0) d.fail("this shape is not known here");
  if (!d.flag("row") || !d.flag("col")) d.fail(".row.col is expected");
  const Type tc = d.type(), tb = d.type(), ta = d.type(), td = d.type();
  if (!(ta == tb) || !(tc == td) || tc.kind != Kind::f || tc.bits < 16) d.fail("these types are not known here");
  const bool half = tc.bits == 16;
  const int k = 4 << shape;
  const Element e = ta.kind == Kind::bf ? Element::bf16 : ta.kind == Kind::tf ? Element::tf32 : Element::f16;
  if (e == Element::tf32 ? k > 8 : k < 8) d.fail("this shape is not known for these types");
  if (half && e != Element::f16) d.fail("results in f16 are of products of f16");
  d.needs(80, "mma");
  d.operands(4, 4);
  const std::size_t per = e == Element::tf32 ? 4 : 8, na = 2 * static_cast<std::size_t>(k) / per,
                    nb = static_cast<std::size_t>(k) / per;
  std::vector<Ref> all = registers(d, 0, half ? 2 : 4, true);
  for (const std::vector<Ref>& part :
       {registers(d, 1, na, false), registers(d, 2, nb, false), registers(d, 3, half ? 2 : 4, false)})
    all.insert(all.end(), part.begin(), part.end());
  i.more = d.list(std::move(all));
  i.mode = static_cast<std::uint8_t>(e);
  i.flags = half ? 8 : 0;
  i.offset = static_cast<int>(architecture(d.program.arch));
  i.run = k == 4 ? multiply<4> : k == 8 ? multiply<8> : multiply<16>;
  i.counted = k == 16 ? "mma.m16n8k16" : k == 8 ? "mma.m16n8k8" : "mma.m16n8k4";
}

}  // namespace

void add_matrix(Families& families) {
  families["ldmatrix"] = ldmatrix;
  families["stmatrix"] = stmatrix;
  families["movmatrix"] = movmatrix;
  families["mma"] = mma;
}

}  // namespace assay::gpu
