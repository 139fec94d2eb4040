#include "conformance/attention/packed.hpp"

#include <algorithm>

namespace assay {
namespace {

std::vector<Index> ends_of(const Tensor<double>& x) {
  std::vector<Index> ends;
  for (Index i = 0; i < x.size(); ++i) ends.push_back(static_cast<Index>(x.at_flat(i)));
  return ends;
}

Index longest(const std::vector<Index>& ends) {
  Index most = 0;
  for (std::size_t r = 0; r + 1 < ends.size(); ++r) most = std::max(most, ends[r + 1] - ends[r]);
  return most;
}

/// The rows of the sequences, one after the other.
Tensor<double> rows_of(const Tensor<double>& x, const std::vector<Index>& ends, const std::vector<Index>& sequences) {
  Shape shape = x.shape();
  const Index width = shape[1] * shape[2];
  shape[0] = 0;
  for (const Index r : sequences) shape[0] += ends[static_cast<std::size_t>(r) + 1] - ends[static_cast<std::size_t>(r)];
  const Tensor<double> y(shape);
  double* to = y.data();
  for (const Index r : sequences)
    for (Index i = ends[static_cast<std::size_t>(r)] * width; i < ends[static_cast<std::size_t>(r) + 1] * width; ++i)
      *to++ = x.at_flat(i);
  return y;
}

Tensor<double> new_ends(const std::vector<Index>& ends, const std::vector<Index>& sequences) {
  const Tensor<double> y(Shape{static_cast<Index>(sequences.size()) + 1}, 0.0);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const auto r = static_cast<std::size_t>(sequences[i]);
    y.data()[i + 1] = y.data()[i] + static_cast<double>(ends[r + 1] - ends[r]);
  }
  return y;
}

}  // namespace

Packed::Packed(const Call& of)
    : call(of),
      n(of.size("ends") - 1),
      Tq(of.size("Tq")),
      Tk(of.size("Tk")),
      H(of.size("H")),
      Hkv(of.size("Hkv")),
      d(of.size("d")),
      dv(of.size("dv")),
      q_ends(ends_of(of["cu_q"])),
      k_ends(ends_of(of["cu_k"])) {}

Index Packed::longest_q() const { return longest(q_ends); }
Index Packed::longest_k() const { return longest(k_ends); }

Index Packed::seen(Index r, Index i) const {
  if (call.option("causal") == 1) return k_length(r);
  return std::clamp<Index>(k_length(r) - q_length(r) + i + 1, 0, k_length(r));
}

Call Packed::of(const std::vector<Index>& sequences) const {
  Call other = call;
  other.set("q", rows_of(call["q"], q_ends, sequences));
  other.set("k", rows_of(call["k"], k_ends, sequences));
  other.set("v", rows_of(call["v"], k_ends, sequences));
  other.set("cu_q", new_ends(q_ends, sequences));
  other.set("cu_k", new_ends(k_ends, sequences));
  return other;
}

double packed_lse(const Tensors& y, Index h, Index row) { return y["lse"].at_flat(h * y["lse"].shape()[1] + row); }

Vector<double> packed_row(const Tensors& y, Index h, Index row) {
  const Shape& n = y["o"].shape();
  Vector<double> o(n[2]);
  for (Index c = 0; c < n[2]; ++c) o[c] = y["o"].at_flat((row * n[1] + h) * n[2] + c);
  return o;
}

}  // namespace assay
