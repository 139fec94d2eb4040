// tcgen05: descriptors bit by bit, shapes by enumeration, products against sums of integers, scaled ones against
// mma.sync.
#include "reference/ptx/tcgen05.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "reference/ptx/tests/testing.hpp"

namespace assay::ptx {
namespace {

using Kind = Tcgen05Kind;
using D = Tcgen05Descriptor;

TEST(Tcgen05Descriptors, EveryField) {
  const auto code = [](Kind kind, auto edit) {
    D d;
    d.m = d.n = 0, d.d_format = DFormat::f16, d.ue8m0 = false;
    edit(d);
    return encode(kind, d);
  };
  for (Kind k : {Kind::f16, Kind::mxf8f6f4}) {
    EXPECT_EQ(code(k, [](D& d) { d.sparse = true; }), 1U << 2);
    EXPECT_EQ(code(k, [](D& d) { d.a_format = 5; }), 5U << 7);
    EXPECT_EQ(code(k, [](D& d) { d.b_format = 5; }), 5U << 10);
    EXPECT_EQ(code(k, [](D& d) { d.negate_a = true; }), 1U << 13);
    EXPECT_EQ(code(k, [](D& d) { d.negate_b = true; }), 1U << 14);
    EXPECT_EQ(code(k, [](D& d) { d.a_mn_major = true; }), 1U << 15);
    EXPECT_EQ(code(k, [](D& d) { d.b_mn_major = true; }), 1U << 16);
    EXPECT_EQ(code(k, [](D& d) { d.n = 256; }), 32U << 17);
    EXPECT_EQ(code(k, [](D& d) { d.m = 128; }), 8U << 24);
  }
  EXPECT_EQ(code(Kind::i8, [](D& d) { d.sparse_id = 3; }), 3U);
  EXPECT_EQ(code(Kind::i8, [](D& d) { d.saturate = true; }), 1U << 3);
  EXPECT_EQ(code(Kind::i8, [](D& d) { d.d_format = DFormat::s32; }), 2U << 4);
  EXPECT_EQ(code(Kind::i8, [](D& d) { d.max_shift = 3; }), 3U << 30);
  EXPECT_EQ(code(Kind::mxf4, [](D& d) { d.scale_b_id = 2; }), 2U << 4);
  EXPECT_EQ(code(Kind::mxf4, [](D& d) { d.scale_a_id = 2; }), 2U << 29);
  EXPECT_EQ(code(Kind::mxf4, [](D& d) { d.ue8m0 = true; }), 1U << 23);
  EXPECT_EQ(code(Kind::mxf4, [](D& d) { d.k96 = true; }), 1U << 31);
  // Bits without a meaning, and all others, one at a time.
  for (Kind k : {Kind::f16, Kind::mxf4nvf4}) {
    const std::set<int> none = k == Kind::f16 ? std::set<int>{6, 23, 29} : std::set<int>{0, 1, 3, 6, 24, 25, 26};
    for (int bit = 0; bit < 32; ++bit) {
      D d;
      EXPECT_EQ(decode(k, 1U << bit, d), none.count(bit) == 0) << bit;
      if (none.count(bit) == 0) {
        EXPECT_EQ(encode(k, d), 1U << bit);
      }
    }
  }
  D d;
  EXPECT_FALSE(decode(Kind::f16, 3U << 4, d));
  // f32 of bf16, 128 x 256: the number that kernels write down.
  EXPECT_TRUE(decode(Kind::f16, 0x08400490, d));
  EXPECT_TRUE(d.m == 128 && d.n == 256 && d.d_format == DFormat::f32 && d.a_format == 1 && d.b_format == 1);
}

TEST(Tcgen05Descriptors, Shapes) {
  const Kind kinds[] = {Kind::tf32, Kind::f16, Kind::f8f6f4, Kind::i8, Kind::mxf8f6f4, Kind::mxf4, Kind::mxf4nvf4};
  for (Kind kind : kinds)
    for (int group : {1, 2})
      for (bool ws : {false, true})
        for (bool mn : {false, true})
          for (int m = 0; m <= 272; m += 16)
            for (int n = 0; n <= 264; n += 8) {
              D d;
              d.m = m, d.n = n, d.b_mn_major = mn;
              d.a_format = d.b_format = kind == Kind::tf32 ? 2 : is_packed_fp4(kind) ? 1 : 0;
              if (kind == Kind::i8) d.d_format = DFormat::s32;
              bool ok = false;
              const bool eight = kind == Kind::f8f6f4 || kind == Kind::mxf8f6f4, by_rows = mn && eight;
              const bool scaled = kind == Kind::mxf8f6f4 || kind == Kind::mxf4 || kind == Kind::mxf4nvf4;
              if (ws)
                ok = group == 1 && !scaled && (m == 32 || m == 64 || m == 128) && (n == 64 || n == 128 || n == 256);
              else if (group == 1) {
                ok = m == 128 || (m == 64 && !scaled);
                ok = ok && n >= 8 && n <= 256;
                if (kind == Kind::i8) ok = ok && (n % 16 == 0 || (!mn && (n == 8 || n == 24)));
                if (by_rows) ok = ok && n % 16 == 0;
              } else {
                ok = (m == 128 || m == 256) && n >= 16 && n <= 256 && n % 16 == 0;
                if (kind == Kind::i8 || by_rows) ok = ok && n >= 32 && n % 32 == 0;
              }
              if (mn && (kind == Kind::mxf4 || kind == Kind::mxf4nvf4)) ok = false;
              ASSERT_EQ(broken_rule(kind, group, ws, d).empty(), ok)
                  << static_cast<int>(kind) << " group " << group << " ws " << ws << " mn " << mn << ' ' << m << 'x'
                  << n << ": " << broken_rule(kind, group, ws, d);
            }
}

TEST(Tcgen05Descriptors, TypesOfKinds) {
  const auto ok = [](Kind kind, auto edit) {
    D d;
    d.a_format = d.b_format = kind == Kind::tf32 ? 2 : is_packed_fp4(kind) ? 1 : 0;
    if (kind == Kind::i8) d.d_format = DFormat::s32;
    edit(d);
    return broken_rule(kind, 1, false, d).empty();
  };
  const auto formats_of = [&](Kind kind) {
    std::string s;
    for (int f = 0; f < 8; ++f) {
      const bool a = ok(kind, [&](D& d) { d.a_format = f; });
      EXPECT_EQ(a, ok(kind, [&](D& d) { d.b_format = f; }));
      if (a) s += static_cast<char>('0' + f);
    }
    return s;
  };
  EXPECT_EQ(formats_of(Kind::tf32), "2");
  EXPECT_EQ(formats_of(Kind::f16), "01");
  EXPECT_EQ(formats_of(Kind::i8), "01");
  EXPECT_EQ(formats_of(Kind::f8f6f4), "01345");
  EXPECT_EQ(formats_of(Kind::mxf8f6f4), "01345");
  EXPECT_EQ(formats_of(Kind::mxf4), "1");
  for (Kind k : {Kind::tf32, Kind::f16, Kind::f8f6f4, Kind::i8, Kind::mxf8f6f4, Kind::mxf4}) {
    const bool integer = k == Kind::i8;
    EXPECT_EQ(ok(k, [](D& d) { d.d_format = DFormat::f16; }), k == Kind::f16 || k == Kind::f8f6f4);
    EXPECT_EQ(ok(k, [](D& d) { d.d_format = DFormat::s32; }), integer);
    EXPECT_EQ(ok(k, [](D& d) { d.d_format = DFormat::f32; }), !integer);
    EXPECT_EQ(ok(k, [](D& d) { d.saturate = true; }), integer);
    EXPECT_EQ(ok(k, [](D& d) { d.negate_a = true; }), !integer);
    EXPECT_EQ(ok(k, [](D& d) { d.negate_b = true; }), !integer);
    EXPECT_EQ(ok(k, [](D& d) { d.a_mn_major = true; }), k != Kind::mxf4);
    EXPECT_FALSE(ok(k, [](D& d) { d.sparse = true; }));
  }
  Element e{};
  EXPECT_TRUE(tcgen05_element(Kind::f8f6f4, 3, e) && e == Element::e2m3 && tcgen05_element(Kind::f8f6f4, 4, e) &&
              e == Element::e3m2);
}

struct Product {
  Kind kind;
  int group;
  bool ws;
  int m, n, a_format, b_format;
  DFormat d;
};

// Small integers in every type: the sum is known. Group 2 has two memories.
TEST(Tcgen05Mma, EqualsTheProduct) {
  testing::Random r{141};
  const Product products[] = {
      {Kind::f16, 1, false, 128, 24, 0, 0, DFormat::f32},  {Kind::f16, 1, false, 64, 16, 1, 1, DFormat::f32},
      {Kind::f16, 2, false, 256, 16, 0, 0, DFormat::f16},  {Kind::tf32, 2, false, 128, 32, 2, 2, DFormat::f32},
      {Kind::f8f6f4, 1, true, 32, 64, 3, 5, DFormat::f32}, {Kind::f8f6f4, 1, true, 64, 64, 4, 0, DFormat::f16},
      {Kind::i8, 1, false, 128, 16, 1, 0, DFormat::s32}};
  for (const Product& p : products)
    for (bool accumulate : {true, false}) {
      D d;
      d.m = p.m, d.n = p.n, d.a_format = p.a_format, d.b_format = p.b_format, d.d_format = p.d;
      d.negate_a = p.kind == Kind::tf32;
      ASSERT_EQ(broken_rule(p.kind, p.group, p.ws, d), "");
      const int k = tcgen05_depth(p.kind);
      Element ea{}, eb{};
      tcgen05_element(p.kind, d.a_format, ea), tcgen05_element(p.kind, d.b_format, eb);
      std::vector<int> va(static_cast<std::size_t>(d.m * k)), vb(static_cast<std::size_t>(d.n * k));
      for (int& x : va) x = static_cast<int>(r.below(5)) - (ea == Element::u8 ? 0 : 2);
      for (int& x : vb) x = static_cast<int>(r.below(5)) - (eb == Element::u8 ? 0 : 2);
      const auto code = [](Element e, int x) {
        return is_float(e) ? static_cast<std::uint32_t>(encode(element_format(e), x))
                           : static_cast<std::uint32_t>(x) & 0xff;
      };
      auto first = std::make_unique<TensorMemory>(), second = std::make_unique<TensorMemory>();
      for (auto* memory : {first.get(), second.get()})
        for (auto& lane : memory->cell)
          lane.fill(p.d == DFormat::s32 ? 6 : p.d == DFormat::f16 ? 0xdead4600 : 0x40c00000);  // 6
      TensorMemory* memories[] = {first.get(), second.get()};
      const std::uint32_t base = static_cast<std::uint32_t>(p.group == 1 && p.m == 64 && !p.ws ? 16 : 0) << 16 | 9;
      // Lane 33 of the first CTA and lane 5 of the second stay as they are.
      const std::uint32_t disabled[8] = {0, 2, 0, 0, 32, 0, 0, 0};
      const bool is_float_d = p.d != DFormat::s32;
      tcgen05_mma(
          p.kind, p.group, p.ws, d, [&](int m, int x) { return code(ea, va[static_cast<std::size_t>(m * k + x)]); },
          [&](int x, int n) { return code(eb, vb[static_cast<std::size_t>(n * k + x)]); }, memories, base, accumulate,
          is_float_d && p.kind != Kind::f8f6f4 ? 1 : 0, disabled);
      for (int m = 0; m < d.m; ++m)
        for (int n = 0; n < d.n; ++n) {
          const TmemCell c = tmem_place_of_d(p.group, p.ws, d.m, d.n, m, n);
          const int lane = c.lane + static_cast<int>(base >> 16);
          int expected = accumulate ? (is_float_d && p.kind != Kind::f8f6f4 ? 3 : 6) : 0;
          for (int x = 0; x < k; ++x)
            expected += (d.negate_a ? -1 : 1) * va[static_cast<std::size_t>(m * k + x)] *
                        vb[static_cast<std::size_t>(n * k + x)];
          if ((c.cta == 0 && lane == 33) || (c.cta == 1 && lane == 5)) expected = 6;
          const std::uint32_t cell = memories[c.cta]->at(lane, 9 + c.column);
          const double got = p.d == DFormat::s32   ? static_cast<std::int32_t>(cell)
                             : p.d == DFormat::f16 ? half_value(formats::fp16, cell)
                                                   : static_cast<double>(f32(cell));
          ASSERT_EQ(got, expected) << static_cast<int>(p.kind) << ' ' << m << ' ' << n;
        }
    }
}

// A tile of 16 x 8 with its scales in the lanes of mma.sync gives the same bits.
TEST(Tcgen05Mma, ScaledEqualsMmaSync) {
  testing::Random r{142};
  struct Row {
    Kind kind;
    int group, m, scales, id;
    bool ue8m0;
    Element a, b;
    int fa, fb;
  };
  const Row rows[] = {{Kind::mxf8f6f4, 1, 128, 1, 3, true, Element::e4m3, Element::e3m2, 0, 4},
                      {Kind::mxf8f6f4, 2, 256, 1, 1, true, Element::e2m1, Element::e5m2, 5, 1},
                      {Kind::mxf4, 1, 128, 2, 2, true, Element::e2m1_packed, Element::e2m1_packed, 1, 1},
                      {Kind::mxf4nvf4, 2, 128, 4, 0, false, Element::e2m1_packed, Element::e2m1_packed, 1, 1}};
  for (const Row& row : rows)
    for (Reading reading : {Reading::exact, Reading::hardware}) {
      D d;
      d.m = row.m, d.n = 64, d.a_format = row.fa, d.b_format = row.fb, d.ue8m0 = row.ue8m0,
      d.scale_a_id = d.scale_b_id = row.id;
      ASSERT_EQ(broken_rule(row.kind, row.group, false, d), "");
      const int k = tcgen05_depth(row.kind);
      const auto random_code = [&](Element e) {
        const Format& f = element_format(e);
        return static_cast<std::uint32_t>(encode(f, static_cast<double>(r.below(33)) / 8 - 2, Round::nearest_even));
      };
      std::vector<std::uint32_t> ca(static_cast<std::size_t>(d.m * k)), cb(static_cast<std::size_t>(d.n * k)),
          sa(static_cast<std::size_t>(d.m)), sb(64);
      for (auto& x : ca) x = random_code(row.a);
      for (auto& x : cb) x = random_code(row.b);
      const auto scale_word = [&] {
        std::uint32_t w = 0;
        for (int v = 0; v < 4; ++v)
          w |= static_cast<std::uint32_t>(row.ue8m0 ? 124 + r.below(7) : r.below(0x7e)) << (8 * v);
        return w;
      };
      for (auto& x : sa) x = scale_word();
      for (auto& x : sb) x = scale_word();
      auto first = std::make_unique<TensorMemory>(), second = std::make_unique<TensorMemory>();
      TensorMemory* memories[] = {first.get(), second.get()};
      for (int cta = 0; cta < row.group; ++cta) {
        for (auto& lane : memories[cta]->cell) lane.fill(bits(0.5F));
        for (int group = 0; group < 4; ++group) {
          for (int m = 0; m < d.m / row.group; ++m)
            memories[cta]->at(m % 32 + 32 * group, 300 + m / 32) =
                sa[static_cast<std::size_t>(cta * d.m / row.group + m)];
          for (int n = 0; n < 64; ++n) {
            const bool split = row.group == 2 && d.m == 128;  // halves of N on halves of the lanes
            if (split && (n >= 32) != (group >= 2)) continue;
            memories[cta]->at(n % 32 + 32 * group, 400 + (split ? 0 : n / 32)) = sb[static_cast<std::size_t>(n)];
          }
        }
      }
      tcgen05_mma_scaled(
          row.kind, row.group, d, row.scales, [&](int m, int x) { return ca[static_cast<std::size_t>(m * k + x)]; },
          [&](int x, int n) { return cb[static_cast<std::size_t>(n * k + x)]; }, memories, 11, 300, 400, true, reading);
      const BlockScaled form{k, row.scales, row.a, row.b, row.ue8m0 ? ScaleType::ue8m0 : ScaleType::ue4m3};
      for (int tm = 0; tm < d.m / 16; ++tm)
        for (int tn = 0; tn < 8; ++tn) {
          Reg32 a[4], b[4], c[4], out[4], ra, rb;
          const int wa = element_bits(row.a), wb = element_bits(row.b);
          for (int lane = 0; lane < 32; ++lane) {
            for (int reg = 0; reg < k * wa / 64; ++reg)
              for (int j = 0; j < 32 / wa; ++j) {
                const Place p = place_in_a(wa, lane, reg, j);
                a[reg][lane] |= ca[static_cast<std::size_t>((16 * tm + p.row) * k + p.col)]
                                << (wa * j + (row.a == Element::e2m1 ? 2 : 0));
              }
            for (int reg = 0; reg < k * wb / 128; ++reg)
              for (int j = 0; j < 32 / wb; ++j) {
                const Place p = place_in_b(wb, lane, reg, j);
                b[reg][lane] |= cb[static_cast<std::size_t>((8 * tn + p.col) * k + p.row)] << (wb * j);
              }
            if (lane % 4 < 2) ra[lane] = sa[static_cast<std::size_t>(16 * tm + lane / 4 + 8 * (lane % 4))];
            if (lane % 4 == 0) rb[lane] = sb[static_cast<std::size_t>(8 * tn + lane / 4)];
          }
          for (Reg32& x : c) x.lane.fill(bits(0.5F));
          mma_block_scaled(form, a, b, c, out, ra, {row.id, 0}, rb, {row.id, 0}, reading);
          for (int m = 0; m < 16; ++m)
            for (int n = 0; n < 8; ++n) {
              const TmemCell cell = tmem_place_of_d(row.group, false, d.m, 64, 16 * tm + m, 8 * tn + n);
              ASSERT_EQ(memories[cell.cta]->at(cell.lane, 11 + cell.column), out[m / 8 * 2 + n % 2][m % 8 * 4 + n / 2])
                  << static_cast<int>(row.kind);
            }
        }
    }
}

TEST(Tcgen05Copies, RowsAndCopies) {
  struct Row {
    TmemCopy s;
    int rows, columns;
    std::vector<std::vector<int>> lanes_of;  // of rows 0, 1, and the last
  };
  const Row all[] = {{TmemCopy::r128_b256, 128, 8, {{0}, {1}, {127}}},
                     {TmemCopy::r4_b256, 4, 8, {{0}, {32}, {96}}},
                     {TmemCopy::r128_b128, 128, 4, {{0}, {1}, {127}}},
                     {TmemCopy::r64_b128_02_13, 64, 4, {{0, 64}, {1, 65}, {63, 127}}},
                     {TmemCopy::r64_b128_01_23, 64, 4, {{0, 32}, {1, 33}, {95, 127}}},
                     {TmemCopy::r32_b128_x4, 32, 4, {{0, 32, 64, 96}, {1, 33, 65, 97}, {31, 63, 95, 127}}}};
  for (const Row& row : all) {
    auto m = std::make_unique<TensorMemory>();
    for (auto& lane : m->cell) lane.fill(0xffffffff);
    tcgen05_cp(
        row.s, [](int r, int j) { return static_cast<std::uint32_t>(100 * r + j); }, *m, 20);
    int written = 0;
    for (const auto& lane : m->cell)
      for (std::uint32_t x : lane) written += x != 0xffffffff ? 1 : 0;
    EXPECT_EQ(written, row.rows * row.columns * static_cast<int>(row.lanes_of[0].size()));
    const int numbers[] = {0, 1, row.rows - 1};
    for (std::size_t i = 0; i < 3; ++i)
      for (int lane : row.lanes_of[i])
        for (int j = 0; j < row.columns; ++j)
          EXPECT_EQ(m->at(lane, 20 + j), static_cast<std::uint32_t>(100 * numbers[i] + j));
  }
}

TEST(Tcgen05Copies, Shift) {
  testing::Random r{143};
  auto m = std::make_unique<TensorMemory>();
  for (auto& lane : m->cell)
    for (std::uint32_t& x : lane) x = static_cast<std::uint32_t>(r());
  const auto before = std::make_unique<TensorMemory>(*m);
  tcgen05_shift(*m, 64 << 16 | 16);
  for (int lane = 0; lane < 128; ++lane)
    for (int column = 0; column < 512; ++column) {
      const bool moves = lane >= 64 && lane < 95 && column >= 16 && column < 24;
      ASSERT_EQ(m->at(lane, column), before->at(lane + (moves ? 1 : 0), column));
    }
}

}  // namespace
}  // namespace assay::ptx
