#include "reference/attention/flash1.hpp"

#include <algorithm>

namespace assay {
namespace {

/// Rows first..last-1 of x become those of rows.
template <class T>
Matrix<T> replaced(const Matrix<T>& x, Index first, Index last, const Matrix<T>& rows) {
  return concat_rows(concat_rows(x.row_range(0, first), rows), x.row_range(last, x.rows()));
}
template <class T>
Vector<T> replaced(const Vector<T>& x, Index first, Index last, const Vector<T>& rows) {
  return replaced(as_col(x), first, last, as_col(rows)).col(0);
}
template <class T>
Vector<T> range(const Vector<T>& x, Index first, Index last) {
  return as_col(x).row_range(first, last).col(0);
}

}  // namespace

template <class T>
Flash1<T> flash1(const FlashInputs<T>& in, const Tiles& tiles) {
  const Index Sq = in.q.rows(), Sk = in.k.rows(), dv = in.v.cols();
  //  O, m, l = 0, -inf, 0
  Flash1<T> y{full<T>(Sq, dv, 0), full<T>(Sq, -infinity), full<T>(Sq, 0), 0};
  for (const Index from : tile_starts(Sk, tiles.Bc, tiles.from_right)) {
    const Index to = std::min(Sk, from + tiles.Bc);
    for (const Index first : tile_starts(Sq, tiles.Br, false)) {
      const Index last = std::min(Sq, first + tiles.Br);
      if (from >= keys_below_diagonal(last, Sq, Sk, in.opt)) continue;
      ++y.visited;
      const Matrix<T> s = tile_logits(in, first, last, from, to), O = y.o.row_range(first, last);  // [Br, Bc], [Br, dv]
      const Vector<T> m = range(y.m, first, last), l = range(y.l, first, last);                    // [Br]
      //  m~ = rowmax S      P~ = exp(S - m~)      l~ = rowsum P~   0 where the row sees nothing of the tile
      const Vector<T> m_tile = next_shift(full<T>(last - first, -infinity), s, {});  // [Br]
      const Matrix<T> p = exp(sub_rows(s, anchor(m_tile)));                          // [Br, Bc]
      //  m' = max(m, m~)      l' = e^(m - m') l + e^(m~ - m') l~
      const Vector<T> m_new = stale(m, max(m, m_tile), 0);                                    // [Br]
      const Vector<T> old = l * exp(m - anchor(m_new)), share = exp(m_tile - anchor(m_new));  // [Br]
      const Vector<T> l_new = old + share * sum_rows(p);                                      // [Br]
      //  O' = (l e^(m - m') O + e^(m~ - m') P~ V) / l'
      const Matrix<T> a = scale_rows(O, old) + scale_rows(matmul(p, in.v.row_range(from, to)), share);  // [Br, dv]
      y.o = replaced(y.o, first, last, select_rows(!is_neg_inf(m_new), div_rows(a, l_new), 0));
      y.m = replaced(y.m, first, last, m_new);
      y.l = replaced(y.l, first, last, l_new);
    }
  }
  return {at(Site::output, y.o), at(Site::statistic, y.m), at(Site::statistic, y.l), y.visited};
}

template <class T>
Vector<T> flash1_lse(const Flash1<T>& y) {
  //  L = m + ln l   -inf where nothing was seen
  return anchor(y.m) + log(y.l);
}

#define ASSAY_INSTANTIATE(T)                                      \
  template Flash1<T> flash1(const FlashInputs<T>&, const Tiles&); \
  template Vector<T> flash1_lse(const Flash1<T>&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay
