#include "reference/collective/reduction_order.hpp"

namespace assay {
namespace {

using By = CollectiveOptions::Order;
using Reduction = CollectiveOptions::Reduction;

/// The largest power of two that is at most n.
Index power_below(Index n) {
  Index p = 1;
  while (2 * p <= n) p *= 2;
  return p;
}

/// What is rounded at a node of the tree.
template <class T>
Vector<T> rounded(const Vector<T>& x, const CollectiveOptions& opt) {
  const bool element = opt.node == CollectiveOptions::Node::element && opt.order != By::library;
  return at(element ? Site::stored : Site::accumulator, x);
}

/// A node: a op b.
template <class T>
Vector<T> node(const Vector<T>& a, const Vector<T>& b, const CollectiveOptions& opt) {
  switch (opt.reduction) {
    case Reduction::sum:
    case Reduction::avg:
      return rounded(a + b, opt);
    case Reduction::prod:
      return rounded(a * b, opt);
    case Reduction::max:
      return max(a, b);
    case Reduction::min:
      return -1.0 * max(-1.0 * a, -1.0 * b);
  }
  throw Error("collective: option reduction", "one that the page lists", "another");
}

template <class T>
using Parts = std::vector<Vector<T>>;

//  (.. (x_f + x_{f+1}) + ..) + x_{f+n-1}, ranks mod n
template <class T>
Vector<T> fold(const Parts<T>& x, std::size_t first, const CollectiveOptions& opt) {
  Vector<T> y = x[first];
  for (std::size_t k = 1; k < x.size(); ++k) y = node(y, x[(first + k) % x.size()], opt);
  return y;
}

//  tree(x) = tree(x_0 .. x_{p-1}) + tree(x_p ..)         p the largest power of two below n
template <class T>
Vector<T> tree(const Parts<T>& x, const CollectiveOptions& opt) {
  if (x.size() == 1) return x[0];
  const auto p = power_below(static_cast<Index>(x.size()) - 1);
  return node(tree(Parts<T>(x.begin(), x.begin() + p), opt), tree(Parts<T>(x.begin() + p, x.end()), opt), opt);
}

//  Steps between partners at a distance d: x_i = x_i + x_{i^d}, what both partners hold, so that the first half, or
//  every second one, stands for all. Ranks beyond a power of two join their neighbours first.
template <class T>
Vector<T> butterfly(Parts<T> x, const CollectiveOptions& opt) {
  const auto p = static_cast<std::size_t>(power_below(static_cast<Index>(x.size()))), extra = x.size() - p;
  Parts<T> y;  // [p]
  for (std::size_t i = 0; i < extra; ++i) y.push_back(node(x[2 * i], x[2 * i + 1], opt));
  y.insert(y.end(), x.begin() + static_cast<std::ptrdiff_t>(2 * extra), x.end());
  while (y.size() > 1) {
    Parts<T> half;
    const std::size_t m = y.size() / 2;
    for (std::size_t i = 0; i < m; ++i)
      half.push_back(opt.order == By::doubling ? node(y[2 * i], y[2 * i + 1], opt)  // d = 1, 2, 4, ..
                                               : node(y[i], y[i + m], opt));        // d = .., 4, 2, 1
    y = half;
  }
  return y[0];
}

}  // namespace

Index reduction_depth(CollectiveOptions::Order order, Index n) {
  if (n <= 1) return 0;
  Index doublings = 0;  // floor(log2 n)
  while (Index{2} << doublings <= n) ++doublings;
  switch (order) {
    case By::exact:
      return 1;
    case By::tree:
    case By::doubling:
    case By::halving:
      return doublings + (n > Index{1} << doublings);  // ceil(log2 n)
    case By::fold:
    case By::ring:
    case By::library:
      break;
  }
  return n - 1;
}

template <class T>
Vector<T> reduce_over_ranks(const Matrix<T>& x, const CollectiveOptions& opt, Index chunk) {
  if (x.rows() < 1) throw Error("a reduction over ranks", "at least one rank", to_string(shape(x)));
  const bool adds = opt.reduction == Reduction::sum || opt.reduction == Reduction::avg;
  Parts<T> parts;  // [n][w]
  for (Index r = 0; r < x.rows(); ++r) parts.push_back(x.row(r));
  Vector<T> y;
  switch (opt.order) {
    case By::ring:
      y = fold(parts, static_cast<std::size_t>((chunk + 1) % x.rows()), opt);
      break;
    case By::tree:
      y = tree(parts, opt);
      break;
    case By::doubling:
    case By::halving:
      y = butterfly(parts, opt);
      break;
    case By::exact:    //  sum_r x_r, one node of all ranks
    case By::library:  //  in whatever order
      y = adds && x.rows() > 1 ? rounded(sum_cols(x), opt) : fold(parts, 0, opt);
      break;
    case By::fold:
      y = fold(parts, 0, opt);
      break;
  }
  //  avg = (sum_r x_r) / n
  if (opt.reduction == Reduction::avg) y = rounded(y / full<T>(y.size(), static_cast<double>(x.rows())), opt);
  return y;
}

#define INSTANTIATE(T) template Vector<T> reduce_over_ranks<T>(const Matrix<T>&, const CollectiveOptions&, Index);
ASSAY_READINGS(INSTANTIATE)

}  // namespace assay
