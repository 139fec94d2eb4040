// C = A B + bias for sm_80: tiles that cp.async brings in three stages ahead, ldmatrix out of swizzled shared memory,
// mma.sync. Contract: in = out = fp16 or bf16, acc = fp32, the bias added to the sum before its one rounding.
//
// One block makes 64 x 64 elements of C, each of its four warps 32 x 32 of them, over steps of 32 in k. What lies
// beyond an edge is zero on both sides, so it adds 0 * 0.
// Instructions: mma.sync ldmatrix.sync cp.async.cg
#include "gpu/model/gemm.h"
#include "gpu/ptx/cp_async.cuh"
#include "gpu/ptx/ldmatrix.cuh"
#include "gpu/ptx/mma_sync.cuh"
#include "gpu/ptx/numbers.cuh"

namespace assay {
namespace {

constexpr int rows = ASSAY_GEMM_ROWS, columns = ASSAY_GEMM_COLUMNS, threads = ASSAY_GEMM_THREADS;
constexpr int depth = 32, stages = 3;
constexpr int warp_rows = 32, warp_columns = 32;
static_assert(rows / warp_rows * (columns / warp_columns) * 32 == threads);

/// A tile of rows of `width` 16-bit elements in shared memory, in chunks of 8. The eight rows of a matrix of ldmatrix
/// lie in different banks: rows of 128 bytes turn their chunks by row, rows of 64 bytes by pairs of rows.
template <int width>
struct Tile {
  std::uint16_t* base;  // [rows, width]
  __device__ std::uint16_t* chunk(int row, int c) const {
    constexpr int chunks = width / 8;
    return base + row * width + ((c ^ (row / (8 / chunks) % chunks)) << 3);
  }
  __device__ std::uint32_t address(int row, int c) const { return ptx::shared_address(chunk(row, c)); }
};

/// A matrix in global memory.
struct Source {
  const std::uint16_t* base;
  std::int64_t stride;
  int rows, columns;
  bool aligned;  // rows start at multiples of 16 bytes
};

/// Starts to copy the n x width elements at (row, column); what is beyond the matrix becomes zeros. Rows that no
/// asynchronous copy can take are copied at once, element by element.
template <int n, int width>
__device__ void copy(const Tile<width>& to, const Source& from, int row, int column) {
  constexpr int chunks = width / 8;
  static_assert(n * chunks % threads == 0);
#pragma unroll
  for (int k = 0; k < n * chunks / threads; ++k) {
    const int r = (k * threads + threadIdx.x) / chunks, c = (k * threads + threadIdx.x) % chunks;
    const int first = column + c * 8;
    const int there = row + r < from.rows ? max(0, min(8, from.columns - first)) : 0;
    const std::uint16_t* const at = there > 0 ? from.base + (row + r) * from.stride + first : from.base;
    if (from.aligned)
      ptx::cp_async_16(to.address(r, c), at, there * 2);
    else
      for (int e = 0; e < 8; ++e) to.chunk(r, c)[e] = e < there ? at[e] : 0;
  }
}

template <class F>
class Product {
 public:
  __device__ Product(const assay_gemm& call, std::uint16_t* shared)
      : call_(call),
        shared_(shared),
        a_{call.a, call.a_stride, call.m, call.k, call.a_aligned != 0},
        b_{call.b, call.b_stride, call.k, call.n, call.b_aligned != 0},
        row_(blockIdx.y * rows),
        column_(blockIdx.x * columns),
        warp_row_(threadIdx.x / 32 / (columns / warp_columns) * warp_rows),
        warp_column_(threadIdx.x / 32 % (columns / warp_columns) * warp_columns),
        lane_(threadIdx.x % 32) {}

  __device__ void run() {
    const int steps = (call_.k + depth - 1) / depth;
    for (int step = 0; step < stages - 1; ++step) copy_step(step, steps);
    for (int step = 0; step < steps; ++step) {
      ptx::cp_async_wait<stages - 2>();  // all but the newest of this thread have arrived
      __syncthreads();                   // those of the other threads too, and the stage before this is free
      copy_step(step + stages - 1, steps);
      work_on(step);
    }
    write();
  }

 private:
  __device__ Tile<depth> a_tile(int step) const { return {shared_ + step % stages * depth * (rows + columns)}; }
  __device__ Tile<columns> b_tile(int step) const { return {a_tile(step).base + depth * rows}; }

  __device__ void copy_step(int step, int steps) const {
    if (step < steps) {
      copy<rows, depth>(a_tile(step), a_, row_, step * depth);
      copy<depth, columns>(b_tile(step), b_, step * depth, column_);
    }
    ptx::cp_async_commit();  // an empty group, beyond the end, keeps the count of groups
  }

  __device__ void work_on(int step) {
    const Tile<depth> a = a_tile(step);
    const Tile<columns> b = b_tile(step);
    const int matrix = lane_ / 8, r = lane_ % 8;
#pragma unroll
    for (int k = 0; k < depth / 16; ++k) {
      std::uint32_t left[warp_rows / 16][4];
#pragma unroll
      for (int i = 0; i < warp_rows / 16; ++i)
        ptx::ldmatrix_x4(left[i], a.address(warp_row_ + i * 16 + matrix % 2 * 8 + r, k * 2 + matrix / 2));
#pragma unroll
      for (int j = 0; j < warp_columns / 16; ++j) {
        std::uint32_t right[4];
        ptx::ldmatrix_x4_trans(right, b.address(k * 16 + matrix % 2 * 8 + r, warp_column_ / 8 + j * 2 + matrix / 2));
#pragma unroll
        for (int i = 0; i < warp_rows / 16; ++i) {
          ptx::mma_16x8x16(c_[i][2 * j], left[i], right[0], right[1], F());
          ptx::mma_16x8x16(c_[i][2 * j + 1], left[i], right[2], right[3], F());
        }
      }
    }
  }

  __device__ void write() const {
#pragma unroll
    for (int i = 0; i < warp_rows / 16; ++i)
#pragma unroll
      for (int j = 0; j < warp_columns / 8; ++j)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = row_ + warp_row_ + i * 16 + lane_ / 4 + e / 2 * 8;
          const int column = column_ + warp_column_ + j * 8 + lane_ % 4 * 2 + e % 2;
          if (row >= call_.m || column >= call_.n) continue;
          const float bias = call_.bias == nullptr ? 0.0f : ptx::to_float(call_.bias[column * call_.bias_stride], F());
          const float sum = call_.bias == nullptr ? c_[i][j][e] : c_[i][j][e] + bias;
          call_.c[row * call_.c_stride + column] = ptx::from_float(sum, F());
        }
  }

  const assay_gemm& call_;
  std::uint16_t* shared_;
  Source a_, b_;
  int row_, column_, warp_row_, warp_column_, lane_;
  float c_[warp_rows / 16][warp_columns / 8][4] = {};
};

}  // namespace

#define ASSAY_GEMM(name, format)                                                                 \
  extern "C" __global__ void __launch_bounds__(ASSAY_GEMM_THREADS) name(const assay_gemm call) { \
    __shared__ __align__(128) std::uint16_t shared[stages * depth * (rows + columns)];           \
    Product<ptx::format>(call, shared).run();                                                    \
  }
ASSAY_GEMM(gemm_fp16_sm80, Fp16)
ASSAY_GEMM(gemm_bf16_sm80, Bf16)

}  // namespace assay
