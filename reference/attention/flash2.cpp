#include "reference/attention/flash2.hpp"

#include <algorithm>

#include "reference/softmax/online.hpp"

namespace assay {

Index keys_below_diagonal(Index last, Index Sq, Index Sk, const AttentionOptions& opt) {
  if (opt.causal == AttentionOptions::Causal::none) return Sk;
  const Index off = opt.causal == AttentionOptions::Causal::top_left ? 0 : Sk - Sq;
  return std::clamp<Index>(off + last, 0, Sk);
}

std::vector<Index> tile_starts(Index n, Index size, bool from_right) {
  if (size < 1) throw Error("flash: size of a tile", "at least 1", std::to_string(size));
  std::vector<Index> starts;
  for (Index j = 0; j < n; j += size) starts.push_back(j);
  if (from_right) std::reverse(starts.begin(), starts.end());
  return starts;
}

template <class T>
Matrix<T> tile_logits(const FlashInputs<T>& in, Index first, Index last, Index from, Index to) {
  const Matrix<T> bias =
      in.bias.data() == nullptr ? Matrix<T>() : in.bias.row_range(first, last).col_range(from, to);  // [Br, Bc]
  //  S = scale q k^T + bias   -inf where masked, by positions in the whole sequence
  Matrix<T> s = attention_logits(in.q.row_range(first, last), in.k.row_range(from, to), bias, in.opt);
  if (in.keep.data() == nullptr) return s;
  return select(in.keep.row_range(first, last).col_range(from, to), s, -infinity);
}

template <class T>
Flash2<T> flash2(const FlashInputs<T>& in, const Tiles& tiles) {
  const Index Sq = in.q.rows(), Sk = in.k.rows(), dv = in.v.cols();
  Flash2<T> y{full<T>(0, dv, 0), full<T>(0, 0), 0};
  for (const Index first : tile_starts(Sq, tiles.Br, false)) {
    const Index last = std::min(Sq, first + tiles.Br), seen = keys_below_diagonal(last, Sq, Sk, in.opt);
    AttentionState<T> state = softmax_nothing<T>(last - first, dv);
    for (const Index from : tile_starts(seen, tiles.Bc, tiles.from_right)) {
      const Index to = std::min(Sk, from + tiles.Bc);
      //  m' = max(m, rowmax S)      P = exp(S - m')      l' = e^(m - m') l + rowsum P      a' = e^(m - m') a + P V
      const Matrix<T> s = tile_logits(in, first, last, from, to);  // [Br, Bc]
      state = attention_step(state, s, in.v.row_range(from, to), next_shift(state.m, s, {}));
      ++y.visited;
    }
    //  O = a / l      L = m + ln l
    const SoftmaxMean<T> rows = softmax_finish(state);
    y.o = concat_rows(y.o, rows.o);                               // [last, dv]
    y.lse = concat_rows(as_col(y.lse), as_col(rows.lse)).col(0);  // [last]
  }
  return {at(Site::output, y.o), at(Site::statistic, y.lse), y.visited};
}

#define ASSAY_INSTANTIATE(T)                                                         \
  template Matrix<T> tile_logits(const FlashInputs<T>&, Index, Index, Index, Index); \
  template Flash2<T> flash2(const FlashInputs<T>&, const Tiles&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay
