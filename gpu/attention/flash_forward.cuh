#pragma once
#include "gpu/attention/flash_forward.h"
#include "gpu/ptx/cp_async.cuh"
#include "gpu/ptx/ldmatrix.cuh"
#include "gpu/ptx/mma_sync.cuh"
#include "gpu/ptx/numbers.cuh"

namespace assay {
namespace {

constexpr int rows = ASSAY_FLASH_ROWS, keys = ASSAY_FLASH_KEYS, stages = ASSAY_FLASH_STAGES;
constexpr int threads = ASSAY_FLASH_THREADS, warp_rows = 16;
static_assert(rows == warp_rows * threads / 32);

constexpr float log2_e = 1.44269504f;

/// A tile of rows of d 16-bit elements in shared memory. Chunk c of 8 elements of row r lies at c ^ (r mod 8): the
/// eight rows of a matrix of ldmatrix then lie in different banks.
template <int d>
struct Tile {
  std::uint16_t* base;  // [rows, d]
  __device__ std::uint16_t* chunk(int row, int c) const { return base + row * d + ((c ^ (row & 7)) << 3); }
  __device__ std::uint32_t address(int row, int c) const { return ptx::shared_address(chunk(row, c)); }
};

/// A matrix in global memory, [count, width], rows `stride` apart.
struct Source {
  const std::uint16_t* base;
  std::int64_t stride;
  int count, width;
  bool aligned;  // rows start at multiples of 16 bytes
};

/// Starts to copy rows first..first+n-1; what is beyond the matrix becomes zeros. Rows that no asynchronous copy can
/// take are copied at once, element by element.
template <int d, int n>
__device__ void copy_rows(const Tile<d>& to, const Source& from, int first) {
  constexpr int chunks = d / 8;
  for (int k = threadIdx.x; k < n * chunks; k += threads) {
    const int row = k / chunks, c = k % chunks;
    const int there = first + row < from.count ? max(0, min(8, from.width - c * 8)) : 0;
    const std::uint16_t* const at = there > 0 ? from.base + (first + row) * from.stride + c * 8 : from.base;
    if (from.aligned)
      ptx::cp_async_16(to.address(row, c), at, there * 2);
    else
      for (int e = 0; e < 8; ++e) to.chunk(row, c)[e] = e < there ? at[e] : 0;
  }
}

/// Which keys a query sees, by position: lowest to highest - 1.
struct Sight {
  int off, window, sk;
  int causal;  // not bool: nvcc packs one into a word of undefined bytes
  __device__ int lowest(int query) const { return window > 0 ? max(0, query + off - window + 1) : 0; }
  __device__ int highest(int query) const { return causal != 0 ? max(0, min(sk, query + off + 1)) : sk; }
};

/// The two rows of S and O that a lane holds parts of: g and g + 8 of its warp's sixteen.
struct Rows {
  int query[2];
  float m[2], l[2];  // maximum of the raw products, sum of the weights (of this lane's columns until the end)
};

/// `mods`: logits may be more than scaled products of what a query sees by its position.
template <int d, class F, bool mods>
class Forward {
 public:
  __device__ Forward(const assay_flash_forward& call, std::uint16_t* shared)
      : call_(call), q_{shared}, warp_(threadIdx.x / 32), lane_(threadIdx.x % 32) {
    const int head = blockIdx.y, batch = blockIdx.z;
    first_ = blockIdx.x * rows;
    if (!mods && call.ends_q != nullptr) {  // sequences one after the other
      packed_ = {call.ends_q[batch], call.ends_k[batch], call.ends_q[batch + 1] - call.ends_q[batch],
                 call.ends_k[batch + 1] - call.ends_k[batch]};
    }
    q_from_ = call.q + batch * call.q_stride.batch + head * call.q_stride.head + first_query() * call.q_stride.sequence;
    const int kv_head = head / call.group;
    k_from_ =
        call.k + batch * call.k_stride.batch + kv_head * call.k_stride.head + first_key() * call.k_stride.sequence;
    v_from_ =
        call.v + batch * call.v_stride.batch + kv_head * call.v_stride.head + first_key() * call.v_stride.sequence;
    sight_ = {call.offset_by_sizes != 0 ? sk() - sq() : 0, call.window, sk(), call.causal};
    for (int half = 0; half < 2; ++half) {
      row_.query[half] = first_ + warp_ * warp_rows + lane_ / 4 + 8 * half;
      row_.m[half] = -INFINITY;
      row_.l[half] = 0;
    }
  }

  __device__ void run() {
    if (first_ >= sq()) return;  // a packed sequence that is shorter than the longest
    const int last_query = min(first_ + rows, sq()) - 1;
    const int begin = sight_.lowest(first_) / keys, end = (sight_.highest(last_query) + keys - 1) / keys;
    copy_rows<d, rows>(q_, {q_from_, call_.q_stride.sequence, sq(), call_.d, call_.aligned != 0}, first_);
    if (begin < end) copy_tile(begin);
    ptx::cp_async_commit();
    for (int tile = begin; tile < end; ++tile) {
      if (tile + 1 < end) copy_tile(tile + 1);
      ptx::cp_async_commit();
      ptx::cp_async_wait<1>();  // all but the tile just asked for
      __syncthreads();
      if (tile == begin) load_q();
      work_on(tile);
      __syncthreads();  // the stage may be written again
    }
    ptx::cp_async_wait<0>();
    write();
  }

 private:
  // Sizes of the block's sequence, and where it begins among the packed ones.
  __device__ int sq() const { return mods ? call_.sq : packed_.sq; }
  __device__ int sk() const { return mods ? call_.sk : packed_.sk; }
  __device__ std::int64_t first_query() const { return mods ? 0 : packed_.first_query; }
  __device__ std::int64_t first_key() const { return mods ? 0 : packed_.first_key; }

  // Computed, not looked up: an array that is indexed at run time would move this object to local memory.
  __device__ Tile<d> k_tile(int tile) const { return {q_.base + (rows + tile % stages * 2 * keys) * d}; }
  __device__ Tile<d> v_tile(int tile) const { return {k_tile(tile).base + keys * d}; }

  __device__ void copy_tile(int tile) {
    const bool aligned = call_.aligned != 0;
    copy_rows<d, keys>(k_tile(tile), {k_from_, call_.k_stride.sequence, sk(), call_.d, aligned}, tile * keys);
    copy_rows<d, keys>(v_tile(tile), {v_from_, call_.v_stride.sequence, sk(), call_.dv, aligned}, tile * keys);
  }

  __device__ void load_q() {
    const int matrix = lane_ / 8, r = lane_ % 8;
#pragma unroll
    for (int k = 0; k < d / 16; ++k)
      ptx::ldmatrix_x4(a_[k], q_.address(warp_ * warp_rows + matrix % 2 * 8 + r, k * 2 + matrix / 2));
  }

  __device__ void work_on(int tile) {
    // Every query of the block sees the whole tile, or some see only part of it.
    const int low = tile * keys, high = low + keys;
    const bool whole =
        high <= sight_.highest(first_) && low >= sight_.lowest(first_ + rows - 1) && (!mods || call_.mask == nullptr);
    float s[keys / 8][4] = {};
    products(k_tile(tile), s);
    if (scaled()) modify(low, s);
    if (!whole) hide(low, s);
    weigh(s);
    if (!whole) move_specials(v_tile(tile), low);
    accumulate(v_tile(tile), s);
  }

  /// s = Q K^T
  __device__ void products(const Tile<d>& k, float (&s)[keys / 8][4]) {
    const int matrix = lane_ / 8, r = lane_ % 8;
#pragma unroll
    for (int c = 0; c < d / 16; ++c) {
#pragma unroll
      for (int n = 0; n < keys / 16; ++n) {
        std::uint32_t b[4];
        ptx::ldmatrix_x4(b, k.address(n * 16 + matrix / 2 * 8 + r, c * 2 + matrix % 2));
        ptx::mma_16x8x16(s[2 * n], a_[c], b[0], b[1], F());
        ptx::mma_16x8x16(s[2 * n + 1], a_[c], b[2], b[3], F());
      }
    }
  }

  __device__ bool sees(int half, int key) const {
    const int query = row_.query[half];
    const bool near = key >= sight_.lowest(query) && key < sight_.highest(query);
    if (!mods || call_.mask == nullptr || !near || query >= sq()) return near;
    return call_.mask[blockIdx.z * call_.mask_stride[0] + query * call_.mask_stride[1] + key * call_.mask_stride[2]] !=
           0;
  }

  /// Scaled, capped, biased: x = scale q k becomes C tanh(x / C) + bias.
  __device__ void modify(int low, float (&s)[keys / 8][4]) const {
    const auto* const bias = call_.bias + blockIdx.y * call_.bias_stride[0];
#pragma unroll
    for (int n = 0; n < keys / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float x = s[n][e] * call_.scale;
        if (call_.softcap > 0) x = call_.softcap * tanhf(x / call_.softcap);
        const int query = row_.query[e / 2], key = low + n * 8 + lane_ % 4 * 2 + e % 2;
        if (call_.bias != nullptr && query < sq() && key < sk())
          x += ptx::to_float(bias[query * call_.bias_stride[1] + key * call_.bias_stride[2]], F());
        s[n][e] = x;
      }
  }

  /// Whether s holds logits, and not products that are still to be scaled.
  __device__ bool scaled() const { return mods && (call_.bias != nullptr || call_.softcap > 0); }
  /// What a logit is in units of s.
  __device__ float unit() const { return scaled() ? 1.0f : call_.scale; }

  /// A mask selects: -inf where a query does not look.
  __device__ void hide(int low, float (&s)[keys / 8][4]) const {
#pragma unroll
    for (int n = 0; n < keys / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (!sees(e / 2, low + n * 8 + lane_ % 4 * 2 + e % 2)) s[n][e] = -INFINITY;
  }

  /// 0 times NaN is NaN, so a value that is NaN or infinite would reach queries that do not see it: it goes to those
  /// that do, and becomes 0 in the tile. Rare: one look at the tile where all is finite.
  __device__ void move_specials(const Tile<d>& v, int low) {
    constexpr int chunks = d / 8;
    bool found = false;
    for (int k = threadIdx.x; k < keys * chunks; k += threads) {
      const std::uint16_t* const at = v.chunk(k / chunks, k % chunks);
      for (int e = 0; e < 8; ++e) found |= ptx::special(at[e], F());
    }
    if (__syncthreads_or(found) == 0) return;
    for (int key = 0; key < keys; ++key) {
      const bool seen[2] = {sees(0, low + key), sees(1, low + key)};
#pragma unroll
      for (int n = 0; n < d / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const std::uint16_t bits = v.chunk(key, n)[lane_ % 4 * 2 + e % 2];
          if (seen[e / 2] && ptx::special(bits, F())) o_[n][e] += ptx::special_value(bits, F());
        }
    }
    __syncthreads();
    for (int k = threadIdx.x; k < keys * chunks; k += threads) {
      std::uint16_t* const at = v.chunk(k / chunks, k % chunks);
      for (int e = 0; e < 8; ++e)
        if (ptx::special(at[e], F())) at[e] = 0;
    }
    __syncthreads();
  }

  /// s becomes P; m, l and O follow the maximum.
  __device__ void weigh(float (&s)[keys / 8][4]) {
    const float c = unit() * log2_e;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float top = row_.m[half];
#pragma unroll
      for (int n = 0; n < keys / 8; ++n) top = fmaxf(top, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
      top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 2));
      const float shift = top == -INFINITY ? 0.0f : top * c;
      const float a = ptx::exp2_approx(fmaf(row_.m[half], c, -shift));  // 0 where nothing was seen before
      float sum = 0;
#pragma unroll
      for (int n = 0; n < keys / 8; ++n)
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          s[n][e] = ptx::exp2_approx(fmaf(s[n][e], c, -shift));
          sum += s[n][e];
        }
      row_.l[half] = row_.l[half] * a + sum;
      row_.m[half] = top;
#pragma unroll
      for (int n = 0; n < d / 8; ++n) {
        o_[n][2 * half] *= a;
        o_[n][2 * half + 1] *= a;
      }
    }
  }

  /// O += P V
  __device__ void accumulate(const Tile<d>& v, const float (&p)[keys / 8][4]) {
    const int matrix = lane_ / 8, r = lane_ % 8;
#pragma unroll
    for (int k = 0; k < keys / 16; ++k) {
      const std::uint32_t a[4] = {ptx::pack(p[2 * k][0], p[2 * k][1], F()), ptx::pack(p[2 * k][2], p[2 * k][3], F()),
                                  ptx::pack(p[2 * k + 1][0], p[2 * k + 1][1], F()),
                                  ptx::pack(p[2 * k + 1][2], p[2 * k + 1][3], F())};
#pragma unroll
      for (int n = 0; n < d / 16; ++n) {
        std::uint32_t b[4];
        ptx::ldmatrix_x4_trans(b, v.address(k * 16 + matrix % 2 * 8 + r, n * 2 + matrix / 2));
        ptx::mma_16x8x16(o_[2 * n], a, b[0], b[1], F());
        ptx::mma_16x8x16(o_[2 * n + 1], a, b[2], b[3], F());
      }
    }
  }

  /// O / l, and L = m scale + ln l.
  __device__ void write() {
    const int head = blockIdx.y, batch = blockIdx.z;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float l = row_.l[half];
      l += __shfl_xor_sync(0xFFFFFFFFu, l, 1);
      l += __shfl_xor_sync(0xFFFFFFFFu, l, 2);
      const int query = row_.query[half];
      if (query >= sq()) continue;
      const bool empty = row_.m[half] == -INFINITY && l == 0;
      float factor = empty ? 0.0f : 1.0f / l, lse = empty ? -INFINITY : fmaf(row_.m[half], unit(), logf(l));
      if (mods && call_.sink != nullptr) add_sink(half, l, empty, factor, lse);
      const std::int64_t at = first_query() + query;
      std::uint16_t* const to = call_.o + batch * call_.o_stride.batch + at * call_.o_stride.sequence +
                                head * call_.o_stride.head + lane_ % 4 * 2;
#pragma unroll
      for (int n = 0; n < d / 8; ++n) {
        const std::uint32_t two = ptx::pack(o_[n][2 * half] * factor, o_[n][2 * half + 1] * factor, F());
        const int column = n * 8 + lane_ % 4 * 2;
        if (column < call_.dv) to[n * 8] = static_cast<std::uint16_t>(two);
        if (column + 1 < call_.dv) to[n * 8 + 1] = static_cast<std::uint16_t>(two >> 16);
      }
      if (lane_ % 4 == 0)
        call_.lse[batch * call_.lse_stride.batch + head * call_.lse_stride.head + at * call_.lse_stride.sequence] = lse;
    }
  }

  /// One more logit, whose value is 0: it takes part in the sum, and in L if the call says so. One of +inf takes all.
  __device__ void add_sink(int half, float l, bool empty, float& factor, float& lse) const {
    const float sink = ptx::to_float(call_.sink[blockIdx.y * call_.sink_stride], F());
    if (sink == -INFINITY) return;
    const float m = row_.m[half] * unit(), top = fmaxf(m, sink);
    const float own = empty ? 0.0f : ptx::exp2_approx((m - top) * log2_e);
    const float all = l * own + (sink == top ? 1.0f : ptx::exp2_approx((sink - top) * log2_e));
    if (!empty) factor = own / all;
    if (call_.lse_of_sink != 0) lse = top + logf(all);
  }

  struct Packed {
    int first_query, first_key, sq, sk;
  };
  const assay_flash_forward& call_;
  Packed packed_ = {0, 0, call_.sq, call_.sk};
  const std::uint16_t *q_from_, *k_from_, *v_from_;
  Tile<d> q_;
  Sight sight_;
  int first_, warp_, lane_;
  Rows row_;
  std::uint32_t a_[d / 16][4];  // Q of the warp's rows
  float o_[d / 8][4] = {};      // O of the warp's rows, not divided yet
};

}  // namespace
}  // namespace assay
