#pragma once
#include <functional>

#include "reference/core/contract.hpp"
#include "reference/core/parallel.hpp"
#include "reference/core/tensor.hpp"

// Definitions are two-dimensional: one batch entry, one head, rows = tokens. These words lift them over everything
// else, in parallel, without copying: a head of a strided tensor is a view. What a lift computes never depends on the
// number of threads.
namespace assay {

/// The matrix [rows, cols] at the leading indices of a tensor of rank lead + 2: `at_lead(q, {b, h})` of q [B, H, S, D].
/// Throws Error if the rank does not fit or an index is out of range.
template <class T>
Matrix<T> at_lead(const Tensor<T>& x, const Shape& lead) {
  const std::size_t k = lead.size();
  if (x.shape().size() != k + 2) {
    throw Error("tensor cannot be lifted", "rank " + std::to_string(k + 2), to_string(x.shape()));
  }
  Index offset = 0;
  for (std::size_t d = 0; d < k; ++d) {
    if (lead[d] < 0 || lead[d] >= x.shape()[d])
      throw Error("no such entry of a tensor", to_string(x.shape()), to_string(lead));
    offset += lead[d] * x.strides()[d];
  }
  return {x.storage(), x.data() + offset, x.shape()[k], x.shape()[k + 1], x.strides()[k], x.strides()[k + 1]};
}

/// Writes x into a view of what the caller has allocated: `copy_rows(o, at_lead(out.o, {b, h}))`.
template <class T>
void copy_rows(const Matrix<T>& x, Matrix<T> to) {
  if (x.rows() != to.rows() || x.cols() != to.cols())
    throw Error("rows that do not fit", to_string({to.rows(), to.cols()}), to_string({x.rows(), x.cols()}));
  for (Index i = 0; i < x.rows(); ++i)
    for (Index c = 0; c < x.cols(); ++c) to(i, c) = x(i, c);
}

/// The tensor with two dimensions exchanged, as a view: [B, S, H, D] as [B, H, S, D].
template <class T>
Tensor<T> swap_dims(const Tensor<T>& x, std::size_t i, std::size_t j) {
  Shape shape = x.shape(), strides = x.strides();
  if (i >= shape.size() || j >= shape.size())
    throw Error("no such dimension", "below the rank of " + to_string(shape), std::to_string(std::max(i, j)));
  std::swap(shape[i], shape[j]);
  std::swap(strides[i], strides[j]);
  return {x.storage(), x.data(), shape, strides};
}

/// Rows first..last-1 of a packed tensor [total, ...] that belong to sequence i of cu_seqlens [n + 1]. Throws Error
/// unless 0 = cu_seqlens[0] <= cu_seqlens[1] <= ... <= cu_seqlens[n] = total.
struct Rows {
  Index first, last;
};
inline Rows packed_rows(const Vector<Index>& cu_seqlens, Index i, Index total) {
  const Index n = cu_seqlens.size() - 1;
  if (n < 0 || cu_seqlens[0] != 0 || cu_seqlens[n] != total)
    throw Error("cu_seqlens does not cover the packed rows", "0 first and " + std::to_string(total) + " last",
                n < 0 ? "nothing" : std::to_string(cu_seqlens[0]) + " and " + std::to_string(cu_seqlens[n]));
  if (i < 0 || i >= n) throw Error("no such packed sequence", "0 <= i < " + std::to_string(n), std::to_string(i));
  if (cu_seqlens[i] > cu_seqlens[i + 1])
    throw Error("cu_seqlens decreases", "not below " + std::to_string(cu_seqlens[i]),
                std::to_string(cu_seqlens[i + 1]));
  return {cu_seqlens[i], cu_seqlens[i + 1]};
}

/// The key-value head that query head h reads where n_heads query heads share n_kv_heads (grouped-query attention):
/// heads of a group are neighbours. Throws Error unless n_kv_heads divides n_heads.
inline Index kv_head(Index h, Index n_heads, Index n_kv_heads) {
  if (n_kv_heads < 1 || n_heads % n_kv_heads != 0)
    throw Error("query heads cannot be grouped", "a divisor of n_heads = " + std::to_string(n_heads),
                std::to_string(n_kv_heads));
  return h / (n_heads / n_kv_heads);
}

/// Calls body(lead, first, last) for every entry of the leading sizes (batch, head, ...) and every block of at most
/// `grain` rows of it, in parallel, with the caller's reading.
inline void lift(const Shape& lead, Index rows, Index grain,
                 const std::function<void(const Shape&, Index, Index)>& body) {
  const Index entries = count(lead), step = grain < 1 ? 1 : grain;
  const Index blocks = rows == 0 ? 1 : (rows + step - 1) / step;
  const Reading at_caller = reading();
  parallel_for(entries * blocks, 1, [&](Index from, Index to) {
    const ReadingScope scope(at_caller);
    for (Index k = from; k < to; ++k) {
      Shape at(lead.size());
      Index entry = k / blocks;
      for (std::size_t d = lead.size(); d-- > 0;) {
        at[d] = entry % lead[d];
        entry /= lead[d];
      }
      const Index first = k % blocks * step;
      body(at, first, std::min(first + step, rows));
    }
  });
}

}  // namespace assay
