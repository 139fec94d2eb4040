// Paged decode attention with split keys: the first kernel takes one part of a request's keys for one query, a warp to
// each, the second merges the parts. Contract: in = out = fp32, fp16 or bf16, acc = p = fp32, exponents of differences,
// 16 or more keys at a time, up to 4 parts.
//   part:   m = max s     p = exp(s - m)     l = sum p     O = sum p v / l     L = m + ln l       s = scale q k
//   merge:  O = sum exp(L_i - L) O_i         L = ln sum exp(L_i)
// A page that is none, and what lies beyond a length, is not looked at: its tokens are left out.
// Instructions: shfl.sync vote.sync
#include "gpu/attention/paged_decode.h"
#include "gpu/ptx/numbers.cuh"
#include "gpu/ptx/warp.cuh"

namespace assay {
namespace {

constexpr int warps = ASSAY_PAGED_WARPS, width = ASSAY_PAGED_WIDTH, splits = ASSAY_PAGED_SPLITS;

/// The query that a warp works on.
struct Query {
  int row, batch, i, head;  // row: i * heads + head
  __device__ Query(const assay_paged_decode& call, int block, int b)
      : row(block * warps + static_cast<int>(threadIdx.x / 32)),
        batch(b),
        i(row / call.heads),
        head(row % call.heads) {}
  __device__ std::int64_t part(const assay_paged_decode& call, int split) const {
    return (static_cast<std::int64_t>(batch) * call.sq * call.heads + row) * splits + split;
  }
};

template <class F>
class Part {
 public:
  using Element = typename ptx::Bits<F>::Type;

  __device__ Part(const assay_paged_decode& call, const Query& query, float* q)
      : call_(call), at_(query), q_(q), lane_(threadIdx.x % 32) {
    const int all = min(call.lens[at_.batch * call.lens_stride], call.blocks * call.slots);
    length_ = max(all, 0);
    end_ = call.causal != 0 ? min(length_, length_ - call.sq + at_.i + 1) : length_;
  }

  __device__ void run(int split) {
    load_query();
    const int even = (length_ + splits - 1) / splits, unit = ASSAY_PAGED_SPLIT_MIN;
    const int size = max(unit, (even + unit - 1) / unit * unit);
    for (int first = split * size; first < min(end_, (split + 1) * size); first += 32)
      take(first, min(end_, (split + 1) * size));
    write(split);
  }

 private:
  __device__ void load_query() {
    const auto* const from = static_cast<const Element*>(call_.q) + at_.batch * call_.q_stride[0] +
                             at_.i * call_.q_stride[1] + at_.head * call_.q_stride[2];
    for (int c = lane_; c < call_.d; c += 32) q_[c] = ptx::to_float(from[c * call_.q_stride[3]], F());
    __syncwarp();
  }

  /// The page of a token, -1 where the table names none.
  __device__ int page_of(int token) const {
    const int page = call_.table[at_.batch * call_.table_stride[0] + token / call_.slots * call_.table_stride[1]];
    return page < call_.pages ? page : -1;
  }
  __device__ float element(const assay_paged_pages& of, int page, int token, int c) const {
    const std::int64_t at = page * of.page + token % call_.slots * of.slot + at_.head / call_.group * of.head;
    return ptx::to_float(static_cast<const Element*>(of.base)[at + c * of.element], F());
  }

  /// Up to 32 keys, a lane to each; then their values, a lane to every 32nd column.
  __device__ void take(int first, int end) {
    const int token = first + lane_, page = token < end ? page_of(token) : -1;
    float s = -INFINITY;
    if (page >= 0) {
      s = 0;
      for (int c = 0; c < call_.d; ++c) s = fmaf(q_[c], element(call_.k, page, token, c), s);
      s *= call_.scale;
    }
    const float before = m_, top = ptx::warp_max(s);
    m_ = top != top || before != before ? top + before : fmaxf(before, top);
    const float shift = m_ == -INFINITY ? 0.0f : m_;
    const float a = expf(before - shift), p = expf(s - shift);
    l_ = l_ * a + ptx::warp_sum(page >= 0 ? p : 0.0f);
#pragma unroll
    for (int n = 0; n < width / 32; ++n) o_[n] *= a;
    // A token that is not there is left out, not multiplied by 0.
    for (unsigned there = __ballot_sync(ptx::all_lanes, page >= 0); there != 0; there &= there - 1) {
      const int key = __ffs(static_cast<int>(there)) - 1;
      const float weight = __shfl_sync(ptx::all_lanes, p, key);
      const int from = __shfl_sync(ptx::all_lanes, page, key);
#pragma unroll
      for (int n = 0; n < width / 32; ++n)
        if (n * 32 + lane_ < call_.dv) o_[n] = fmaf(weight, element(call_.v, from, first + key, n * 32 + lane_), o_[n]);
    }
  }

  __device__ void write(int split) const {
    const std::int64_t part = at_.part(call_, split);
    const bool empty = m_ == -INFINITY;
#pragma unroll
    for (int n = 0; n < width / 32; ++n)
      if (n * 32 + lane_ < call_.dv) call_.part_o[part * call_.dv + n * 32 + lane_] = empty ? 0.0f : o_[n] / l_;
    if (lane_ == 0) call_.part_lse[part] = empty ? -INFINITY : m_ + logf(l_);
  }

  const assay_paged_decode& call_;
  Query at_;
  float* q_;  // [d] in shared memory
  int lane_, length_, end_;
  float m_ = -INFINITY, l_ = 0;
  float o_[width / 32] = {};  // columns lane, lane + 32, ...
};

template <class F>
__device__ void merge(const assay_paged_decode& call, const Query& query) {
  using Element = typename ptx::Bits<F>::Type;
  const int lane = threadIdx.x % 32;
  const float* const lse = call.part_lse + query.part(call, 0);
  float top = -INFINITY;
  for (int s = 0; s < splits; ++s) top = top != top || lse[s] != lse[s] ? top + lse[s] : fmaxf(top, lse[s]);
  const float shift = top == -INFINITY ? 0.0f : top;
  float sum = 0;
  for (int s = 0; s < splits; ++s) sum += expf(lse[s] - shift);
  Element* const to = static_cast<Element*>(call.o) + query.batch * call.o_stride[0] + query.i * call.o_stride[1] +
                      query.head * call.o_stride[2];
  for (int c = lane; c < call.dv; c += 32) {
    float o = 0;
    for (int s = 0; s < splits; ++s)
      if (lse[s] != -INFINITY) o = fmaf(expf(lse[s] - shift), call.part_o[query.part(call, s) * call.dv + c], o);
    to[c * call.o_stride[3]] = ptx::from_float(top == -INFINITY ? 0.0f : o / sum, F());
  }
  if (lane == 0)
    call.lse[query.batch * call.lse_stride[0] + query.head * call.lse_stride[1] + query.i * call.lse_stride[2]] =
        top == -INFINITY ? -INFINITY : top + logf(sum);
}

}  // namespace

#define ASSAY_PAGED(format_name, format)                                       \
  extern "C" __global__ void __launch_bounds__(ASSAY_PAGED_THREADS)            \
      paged_decode_part_##format_name##_sm80(const assay_paged_decode call) {  \
    __shared__ float q[warps][width];                                          \
    const Query query(call, blockIdx.y, blockIdx.z);                           \
    if (query.row >= call.sq * call.heads) return;                             \
    Part<ptx::format>(call, query, q[threadIdx.x / 32]).run(blockIdx.x);       \
  }                                                                            \
  extern "C" __global__ void __launch_bounds__(ASSAY_PAGED_THREADS)            \
      paged_decode_merge_##format_name##_sm80(const assay_paged_decode call) { \
    const Query query(call, blockIdx.x, blockIdx.y);                           \
    if (query.row < call.sq * call.heads) merge<ptx::format>(call, query);     \
  }
ASSAY_PAGED(fp32, Fp32)
ASSAY_PAGED(fp16, Fp16)
ASSAY_PAGED(bf16, Bf16)

}  // namespace assay
