#include "reference/attention/window.hpp"

#include <algorithm>

namespace assay {

Index window_count(Index t, Index W) {
  //  |V(i)| = max(0, min(t + 1, W))
  return std::max<Index>(0, std::min(t + 1, W));
}

Mask beyond_window(Index Sq, Index Sk, Index W) {
  Mask keep(Sq, Sk);
  //  j <= t - W      t = i + Sk - Sq
  for (Index i = 0; i < Sq; ++i)
    for (Index j = 0; j < Sk; ++j) keep(i, j) = j <= i + Sk - Sq - W;
  return keep;
}

Index ring_slot(Index j, Index W) { return j % W; }

template <class T>
Matrix<T> ring_buffer(const Matrix<T>& x, Index t, Index W) {
  std::vector<Index> held(static_cast<std::size_t>(std::min(t + 1, W)));
  //  slot(j) = j mod W, the newest key last
  for (Index j = 0; j <= t; ++j) held[static_cast<std::size_t>(ring_slot(j, W))] = j;
  return take_rows(x, held);
}

template <class T>
Attention<T> ring_attention(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, Index t,
                            const AttentionOptions& opt) {
  const auto W = static_cast<Index>(opt.window);
  return attention(q, ring_buffer(k, t, W), ring_buffer(v, t, W), Mask(), Matrix<T>(), Vector<T>(), opt);
}

template <class T>
Matrix<T> window_layers(const Matrix<T>& x, Index n, const AttentionOptions& opt) {
  Matrix<T> y = x;
  const Mask keep = visible(0, x.rows(), x.rows(), x.rows(), opt);
  for (Index layer = 0; layer < n; ++layer) y = attention(y, y, y, keep, Matrix<T>(), Vector<T>(), opt).o;
  return y;
}

#define ASSAY_INSTANTIATE(T)                                                                        \
  template Matrix<T> ring_buffer(const Matrix<T>&, Index, Index);                                   \
  template Attention<T> ring_attention(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&, Index, \
                                       const AttentionOptions&);                                    \
  template Matrix<T> window_layers(const Matrix<T>&, Index, const AttentionOptions&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay
