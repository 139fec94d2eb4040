#include "reference/collective/primitives.hpp"

#include "reference/collective/reduction_order.hpp"

namespace assay {
namespace {

using Call = CollectiveOptions::Call;

/// y_r [first ..) = v
template <class T>
void put(Matrix<T>& y, Index r, Index first, const Vector<T>& v) {
  for (Index i = 0; i < v.size(); ++i) y(r, first + i) = v[i];
}

/// x_r [first, first + n)
template <class T>
Vector<T> part(const Matrix<T>& x, Index r, Index first, Index n) {
  return x.row_range(r, r + 1).col_range(first, first + n).row(0);
}

template <class T>
Matrix<T> copy(const Matrix<T>& x) {
  Matrix<T> y(x.rows(), x.cols());
  for (Index r = 0; r < x.rows(); ++r) put(y, r, 0, x.row(r));
  return y;
}

/// The whole buffers reduced: in `pieces` calls, each of n chunks as long as each other but for the last ones.
template <class T>
Vector<T> reduced(const Matrix<T>& x, const CollectiveOptions& opt) {
  const Index n = x.rows(), S = x.cols(), pieces = static_cast<Index>(opt.pieces);
  const Index piece = (S + pieces - 1) / pieces;
  Matrix<T> y(1, S);
  for (Index p = 0; p < pieces; ++p) {
    const Index from = std::min(S, p * piece), to = std::min(S, from + piece), chunk = (to - from + n - 1) / n;
    for (Index c = 0; c < n; ++c) {
      const Index first = std::min(to, from + c * chunk), last = std::min(to, first + chunk);
      put(y, 0, first, reduce_over_ranks(x.col_range(first, last), opt, c));
    }
  }
  return y.row(0);
}

void require_counts(const Matrix<Index>& counts, Index n, Index c) {
  require_shape("counts", shape(counts), {n, n});
  for (Index r = 0; r < n; ++r)
    for (Index s = 0; s < n; ++s)
      if (counts(r, s) < 0 || counts(r, s) > c)
        throw Error("collective: elements from rank " + std::to_string(r) + " to rank " + std::to_string(s),
                    "0 to " + std::to_string(c), std::to_string(counts(r, s)));
}

}  // namespace

template <class T>
Matrix<T> collective(const Matrix<T>& x, const Matrix<T>& before, const Matrix<Index>& counts,
                     const CollectiveOptions& opt) {
  const Index n = x.rows(), S = x.cols();
  if (n < 1) throw Error("collective: x", "a row for each rank, at least one", to_string(shape(x)));
  const bool in_place = opt.memory == CollectiveOptions::Memory::in_place;
  if (!in_place) require_shape("before", shape(before), {n, S});
  const Index root = require_whole("collective: option root", opt.root, 0) % n, c = S / n;
  require_whole("collective: option pieces", opt.pieces, 1);
  const auto own = [&](Index r) { return in_place ? r * c : 0; };  // where a rank's single block is
  Matrix<T> y = copy(in_place ? x : before);
  switch (opt.call) {
    case Call::broadcast:  //  y_r = x_root
      for (Index r = 0; r < n; ++r) put(y, r, 0, x.row(root));
      break;
    case Call::scatter:  //  y_r = block r of x_root
      for (Index r = 0; r < n; ++r) put(y, r, own(r), part(x, root, r * c, c));
      break;
    case Call::gather:  //  block r of y_root = x_r
      for (Index r = 0; r < n; ++r) put(y, root, r * c, part(x, r, own(r), c));
      break;
    case Call::all_gather:  //  block s of y_r = x_s
      for (Index r = 0; r < n; ++r)
        for (Index s = 0; s < n; ++s) put(y, r, s * c, part(x, s, own(s), c));
      break;
    case Call::reduce:  //  y_root = x_0 op x_1 op ..
      put(y, root, 0, reduced(x, opt));
      break;
    case Call::all_reduce: {  //  y_r = x_0 op x_1 op ..
      const Vector<T> all = reduced(x, opt);
      for (Index r = 0; r < n; ++r) put(y, r, 0, all);
      break;
    }
    case Call::reduce_scatter:  //  y_r = block r of x_0 op x_1 op ..
      for (Index r = 0; r < n; ++r) put(y, r, own(r), reduce_over_ranks(x.col_range(r * c, (r + 1) * c), opt, r));
      break;
    case Call::all_to_all:  //  block s of y_r = block r of x_s
      for (Index r = 0; r < n; ++r)
        for (Index s = 0; s < n; ++s) put(y, r, s * c, part(x, s, r * c, c));
      break;
    case Call::all_to_all_v: {  //  y_r = what x_0 has for r, what x_1 has for r, ..; one after another, as in x
      require_counts(counts, n, c);
      std::vector<Index> received(static_cast<std::size_t>(n), 0);
      for (Index s = 0; s < n; ++s) {
        Index sent = 0;
        for (Index r = 0; r < n; ++r) {
          put(y, r, received[static_cast<std::size_t>(r)], part(x, s, sent, counts(s, r)));
          received[static_cast<std::size_t>(r)] += counts(s, r);
          sent += counts(s, r);
        }
      }
      break;
    }
    case Call::send_recv:  //  y_{r + root} = x_r
      for (Index r = 0; r < n; ++r) put(y, (r + root) % n, 0, x.row(r));
      break;
    case Call::barrier:
      break;
  }
  return at(Site::output, y);
}

#define INSTANTIATE(T) \
  template Matrix<T> collective<T>(const Matrix<T>&, const Matrix<T>&, const Matrix<Index>&, const CollectiveOptions&);
ASSAY_READINGS(INSTANTIATE)

}  // namespace assay
