#include "reference/core/kernels/parts.h"

// One chain of fma per output, k ascending, whatever the tiling: an output's accumulator may rest in c between two
// blocks of k, for a store and a load change no bit.
//
// Blocks: KC x NC of b lies packed in panels of NR columns; for each panel the rows of a pass by, MR at a time. A tile
// of MR x NR accumulators stays in registers. b is read in place where that is as good, and a where its rows are
// contiguous.

namespace ASSAY_ISA {
namespace {

// Accumulators fill the registers: 8 x 3 of 32, 4 x 3 of 16.
#if defined(ASSAY_KERNELS_AVX512)
constexpr int MR = 8, NV = 3;
#elif defined(ASSAY_KERNELS_AVX2)
constexpr int MR = 4, NV = 3;
#else
constexpr int MR = 2, NV = 2;
#endif
constexpr int NR = NV * W, KC = 256, MC = 512, NC = 1536 / NR * NR;
static_assert(KC * NC + MC * KC + MR * NR + 512 * W <= ASSAY_MATMUL_SCRATCH, "scratch");

struct Strided {
  const double* data;
  int64_t rs, cs;
  const double* at(int64_t i, int64_t j) const { return data + i * rs + j * cs; }
};

int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// c[R, V W] (+)= a[R, k] b[k, V W]
template <int R, int V>
void tile(Strided a, const double* b, int64_t b_rs, double* c, int64_t c_rs, int64_t k, bool first) {
  Vec acc[R][V];
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < V; ++v) acc[i][v] = first ? broadcast(0.0) : load(c + i * c_rs + v * W);
  for (int64_t p = 0; p < k; ++p, b += b_rs, a.data += a.cs) {
    Vec row[V];
    for (int v = 0; v < V; ++v) row[v] = load(b + v * W);
    for (int i = 0; i < R; ++i) {
      const Vec x = broadcast(a.data[i * a.rs]);
      for (int v = 0; v < V; ++v) acc[i][v] = fma(x, row[v], acc[i][v]);
    }
  }
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < V; ++v) store(c + i * c_rs + v * W, acc[i][v]);
}

typedef void Tile(Strided a, const double* b, int64_t b_rs, double* c, int64_t c_rs, int64_t k, bool first);

template <int V>
Tile* tile_of_rows(int64_t rows) {
  switch (rows) {
    case 1:
      return tile<1, V>;
    case 2:
      return tile<2, V>;
#if defined(ASSAY_KERNELS_AVX512) || defined(ASSAY_KERNELS_AVX2)
    case 3:
      return tile<3, V>;
#endif
#if defined(ASSAY_KERNELS_AVX512)
    case 4:
      return tile<4, V>;
    case 5:
      return tile<5, V>;
    case 6:
      return tile<6, V>;
    case 7:
      return tile<7, V>;
#endif
    default:
      return tile<MR, V>;
  }
}
Tile* tile_of(int64_t rows, int64_t vectors) {
#if defined(ASSAY_KERNELS_AVX512) || defined(ASSAY_KERNELS_AVX2)
  if (vectors == 3) return tile_of_rows<3>(rows);
#endif
  return vectors == 2 ? tile_of_rows<2>(rows) : tile_of_rows<1>(rows);
}

// One panel: `cols` <= NR columns, as they lie in memory (in place) or padded with zeros to whole vectors.
struct Panel {
  const double* b;
  int64_t b_rs, cols;
};

void pack_b(Strided b, int64_t k, int64_t cols, double* out) {
  const int64_t width = (cols + W - 1) / W * W;
  if (b.cs == 1 && cols == width) {
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < width; j += W) store(out + p * width + j, load(b.at(p, j)));
    return;
  }
  for (int64_t j = 0; j < width; ++j)
    for (int64_t p = 0; p < k; ++p) out[p * width + j] = j < cols ? *b.at(p, j) : 0.0;
}

void rows_of_panel(Strided a, Panel panel, double* c, int64_t c_rs, int64_t rows, int64_t k, bool first, double* edge) {
  const int64_t vectors = (panel.cols + W - 1) / W;
  if (panel.cols == vectors * W) {
    tile_of(rows, vectors)(a, panel.b, panel.b_rs, c, c_rs, k, first);
    return;
  }
  for (int64_t i = 0; i < rows && !first; ++i)
    for (int64_t j = 0; j < panel.cols; ++j) edge[i * NR + j] = c[i * c_rs + j];
  tile_of(rows, vectors)(a, panel.b, panel.b_rs, edge, NR, k, first);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < panel.cols; ++j) c[i * c_rs + j] = edge[i * NR + j];
}

// c[rows, n] (+)= a[rows, k] b[k, n] for k <= KC, n <= NC
void block(Strided a, Strided b, double* c, int64_t c_rs, int64_t m, int64_t n, int64_t k, bool first,
           double* scratch) {
  double *packed_b = scratch, *packed_a = scratch + KC * NC, *edge = packed_a + MC * KC;
  for (int64_t j = 0; j < n; j += NR) {
    const int64_t cols = least(NR, n - j);
    const bool in_place = b.cs == 1 && cols % W == 0 && m <= 2 * MR;
    if (!in_place) pack_b({b.at(0, j), b.rs, b.cs}, k, cols, packed_b + j * k);
  }
  for (int64_t i0 = 0; i0 < m; i0 += MC) {
    const int64_t rows = least(MC, m - i0);
    const bool pack_a = a.cs != 1;
    if (pack_a)
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t p = 0; p < k; ++p) packed_a[i / MR * MR * k + p * MR + i % MR] = *a.at(i0 + i, p);
    for (int64_t j = 0; j < n; j += NR) {
      const int64_t cols = least(NR, n - j), width = (cols + W - 1) / W * W;
      const bool in_place = b.cs == 1 && cols % W == 0 && m <= 2 * MR;
      const Panel panel = in_place ? Panel{b.at(0, j), b.rs, cols} : Panel{packed_b + j * k, width, cols};
      for (int64_t i = 0; i < rows; i += MR) {
        const Strided some = pack_a ? Strided{packed_a + i * k, 1, MR} : Strided{a.at(i0 + i, 0), a.rs, 1};
        rows_of_panel(some, panel, c + (i0 + i) * c_rs + j, c_rs, least(MR, rows - i), k, first, edge);
      }
    }
  }
}

void product(Strided a, Strided b, double* c, int64_t c_rs, int64_t m, int64_t n, int64_t k, double* scratch) {
  for (int64_t p = 0; p < k; p += KC)
    for (int64_t j = 0; j < n; j += NC)
      block({a.at(0, p), a.rs, a.cs}, {b.at(p, j), b.rs, b.cs}, c + j, c_rs, m, least(NC, n - j), least(KC, k - p),
            p == 0, scratch);
}

}  // namespace

void matmul(const double* a, int64_t a_rs, int64_t a_cs, const double* b, int64_t b_rs, int64_t b_cs, double* c,
            int64_t c_rs, int64_t m, int64_t n, int64_t k, double* scratch) {
  if (k == 0)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) c[i * c_rs + j] = 0.0;
  if (n >= W || m <= n) {
    product({a, a_rs, a_cs}, {b, b_rs, b_cs}, c, c_rs, m, n, k, scratch);
    return;
  }
  // Few columns: the rows of a go into the lanes, as the columns of the transposed product (fma commutes).
  constexpr int SOME = 512;
  double* turned = scratch + ASSAY_MATMUL_SCRATCH - SOME * W;
  for (int64_t i = 0; i < m && k > 0; i += SOME) {
    const int64_t rows = least(SOME, m - i);
    product({b, b_cs, b_rs}, {a + i * a_rs, a_cs, a_rs}, turned, SOME, n, rows, k, scratch);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < n; ++j) c[(i + r) * c_rs + j] = turned[j * SOME + r];
  }
}

}  // namespace ASSAY_ISA
