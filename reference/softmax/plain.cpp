#include "reference/softmax/plain.hpp"

namespace assay {

template <class T>
SoftmaxPlain<T> softmax_plain(const Matrix<T>& x, const Mask& keep, const Vector<T>& sink) {
  require_shape("sink", shape(sink), {x.rows()});
  const Matrix<T> kept = select(keep, x, -infinity);  // [T, n]
  // the sites are where a kernel's exponentials and sums overflow its accumulator
  //  e_i = exp(x_i)   0 where masked
  const Matrix<T> e = at(Site::accumulator, exp(kept));  // [T, n]
  //  s = sum_j e_j      l = s + exp(g)
  const Vector<T> s = at(Site::accumulator, sum_rows(e));                           // [T]
  const Vector<T> l = at(Site::accumulator, s + at(Site::accumulator, exp(sink)));  // [T]
  //  p_i = e_i / l      LSE = ln s
  const Matrix<T> p = div_rows(at(Site::probabilities, e), l);  // [T, n]
  //  rows without an entry, by convention
  const RowMask some = !is_neg_inf(max(max_rows(kept), sink));  // [T]
  return {at(Site::output, select_rows(some, p, 0)), at(Site::statistic, log(s))};
}

#define ASSAY_INSTANTIATE(T) template SoftmaxPlain<T> softmax_plain(const Matrix<T>&, const Mask&, const Vector<T>&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay
