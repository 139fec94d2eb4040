#include "conformance/engine/claim.hpp"

// Element by element: which ranks' elements meet at y[r, i], by an index formula per call; sums from the last rank to
// the first, products by halves, max and min by scanning values.
namespace assay {
namespace {

struct Element {
  Index rank, at;
};

/// The name an enumeration has in this call.
std::string named(const Call& call, const char* option) {
  for (std::size_t i = 0; i < call.op->options.size(); ++i)
    if (call.op->options[i].name == option) return call.option_text(i);
  return "";
}

/// The element that arrives at y[r, i] of a movement; rank -1: none does.
Element source(const Call& call, const std::string& name, Index r, Index i, Index n, Index S) {
  const Index c = S / n, root = static_cast<Index>(call.option("root")) % n;
  const bool in_place = named(call, "memory") == "in_place";
  const Index block = c == 0 ? n : i / c, within = c == 0 ? 0 : i % c;
  const Element none{-1, 0};
  if (name == "broadcast") return {root, i};
  if (name == "send_recv") return {(r + n - root) % n, i};
  if (name == "scatter") return block == (in_place ? r : 0) ? Element{root, r * c + within} : none;
  if (block >= n || name == "barrier") return none;
  if (name == "gather" && r != root) return none;
  if (name == "gather" || name == "all_gather") return {block, in_place ? i : within};
  if (name == "all_to_all") return {block, r * c + within};
  const Tensor<double>& counts = call["counts"];
  Index end = 0;
  for (Index s = 0; s < n; ++s) {
    const auto here = static_cast<Index>(counts.at_flat(s * n + r));
    if (i < end + here) {
      Index first = 0;
      for (Index t = 0; t < r; ++t) first += static_cast<Index>(counts.at_flat(s * n + t));
      return {s, first + i - end};
    }
    end += here;
  }
  return none;
}

Wide product(const Matrix<Wide>& x, Index i, Index first, Index last) {
  if (last - first == 1) return x(first, i);
  const Index middle = (first + last) / 2;
  return product(x, i, first, middle) * product(x, i, middle, last);
}

Wide combined(const Matrix<Wide>& x, Index i, const std::string& op) {
  const Index n = x.rows();
  if (op == "prod") return product(x, i, 0, n);
  Wide y = x(n - 1, i);
  for (Index r = n - 1; r-- > 0;) {
    const double a = value(x(r, i)), b = value(y);
    if (op == "sum" || op == "avg")
      y = x(r, i) + y;
    else if (a != a || (b == b && (op == "max" ? a > b : a < b)))
      y = x(r, i);
  }
  return op == "avg" ? y / Wide(static_cast<double>(n)) : y;
}

}  // namespace

SECOND_OPINION(collective) {
  const Matrix<Wide> x = e.matrix("x"), before = e.has("before") ? e.matrix("before") : x;
  const std::string name = named(e.call, "call"), op = named(e.call, "reduction");
  const Index n = x.rows(), S = x.cols(), c = S / n, root = static_cast<Index>(e.call.option("root")) % n;
  Matrix<Wide> y(n, S);
  for (Index r = 0; r < n; ++r)
    for (Index i = 0; i < S; ++i) {
      y(r, i) = before(r, i);
      if (name == "all_reduce" || (name == "reduce" && r == root)) y(r, i) = combined(x, i, op);
      const Index own = e.has("before") ? 0 : r * c;
      if (name == "reduce_scatter" && i >= own && i < own + c) y(r, i) = combined(x, r * c + i - own, op);
      if (name == "all_reduce" || name == "reduce" || name == "reduce_scatter") continue;
      const Element from = source(e.call, name, r, i, n, S);
      if (from.rank >= 0) y(r, i) = x(from.rank, from.at);
    }
  e.out("y", y);
  if (name == "barrier") e.out("entered", Vector<Wide>(n, Wide(static_cast<double>(n))));
}

}  // namespace assay
