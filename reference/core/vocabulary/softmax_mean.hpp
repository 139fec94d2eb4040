#pragma once
#include <vector>

#include "reference/core/vocabulary/primitives.hpp"

// The primitive under softmax_mean (reference/core/vocabulary.hpp): row by row in any reading, in blocks of rows for
// `double`, as a closed form for `Bound` (softmax_mean_bound.cpp).
namespace assay::prim {

/// Whether row i takes entry j in.
template <class T>
bool takes(const Matrix<T>& s, const Mask& keep, Index i, Index j) {
  return (keep.data() == nullptr || keep(i, j)) && value(s(i, j)) != -infinity;
}

template <class T>
void softmax_mean(const Matrix<T>& s, const Matrix<T>& v, const Mask& keep, const Vector<T>& sink, SoftmaxMean<T>& y) {
  for (Index i = 0; i < s.rows(); ++i) {
    std::vector<Index> kept;
    std::vector<T> e, terms;
    for (Index j = 0; j < s.cols(); ++j) {
      if (!takes(s, keep, i, j)) continue;
      kept.push_back(j);
      e.push_back(s(i, j));
    }
    const auto n = static_cast<Index>(kept.size());
    //  m = max_j s_j      e_j = exp(s_j - m)      l = sum_j e_j
    const T m = prim::anchor(prim::max_value(e.data(), n, Index{1}));
    for (T& x : e) x = prim::exp(x - m);
    const T l = prim::sum(e.data(), n, Index{1});
    y.lse[i] = n == 0 ? T(-infinity) : m + prim::log(l);
    //  o = sum_j e_j v_j / (l + exp(sink - m))      both times exp(m - sink) where the sink is larger
    const bool above = sink.data() != nullptr && value(sink[i]) > value(m) && value(sink[i]) != infinity;
    const T shrink = above ? prim::exp(m - prim::anchor(sink[i])) : T(1);
    const T g = sink.data() == nullptr ? T(0) : prim::exp(sink[i] - (above ? prim::anchor(sink[i]) : m));
    const T whole = sink.data() == nullptr ? l : above ? l * shrink + g : l + g;
    for (Index c = 0; c < v.cols(); ++c) {
      terms.clear();
      for (Index k = 0; k < n; ++k)
        terms.push_back(e[static_cast<std::size_t>(k)] * v(kept[static_cast<std::size_t>(k)], c));
      const T sum = prim::sum(terms.data(), n, Index{1});
      y.o(i, c) = n == 0 ? T(0) : (above ? sum * shrink : sum) / whole;
    }
  }
}

/// `double`: under a reading that emulates, the probabilities are rounded as the contract says.
void softmax_mean(const Matrix<double>& s, const Matrix<double>& v, const Mask& keep, const Vector<double>& sink,
                  SoftmaxMean<double>& y);
/// The same with the probabilities as they are (nullptr), or rounded by that contract.
void softmax_mean(const Matrix<double>& s, const Matrix<double>& v, const Mask& keep, const Vector<double>& sink,
                  const Contract* rounds, SoftmaxMean<double>& y);
/// The values are those of `double`, or those under stored probabilities where the errors leave no choice of these.
void softmax_mean(const Matrix<Bound>& s, const Matrix<Bound>& v, const Mask& keep, const Vector<Bound>& sink,
                  SoftmaxMean<Bound>& y);

template <class T>
SoftmaxMean<T> mean_in_chunks(const SoftmaxMean<T>& y, const Matrix<T>&, const Matrix<T>&, Index, double) {
  return y;
}
SoftmaxMean<Bound> mean_in_chunks(const SoftmaxMean<Bound>& y, const Matrix<Bound>& s, const Matrix<Bound>& v,
                                  Index chunk, double slack);

}  // namespace assay::prim
