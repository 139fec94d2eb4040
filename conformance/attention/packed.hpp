#pragma once
#include "conformance/engine/claim.hpp"

// What the claims on packed sequences read from a call, and how they put other calls together from its sequences.
namespace assay {

struct Packed {
  explicit Packed(const Call& of);
  Call call;
  Index n, Tq, Tk, H, Hkv, d, dv;
  std::vector<Index> q_ends, k_ends;  // [n + 1]

  Index q_first(Index r) const { return q_ends[static_cast<std::size_t>(r)]; }
  Index k_first(Index r) const { return k_ends[static_cast<std::size_t>(r)]; }
  Index q_length(Index r) const { return q_first(r + 1) - q_first(r); }
  Index k_length(Index r) const { return k_first(r + 1) - k_first(r); }
  Index longest_q() const;
  Index longest_k() const;
  /// How many keys query i of sequence r sees: the first so many of them.
  Index seen(Index r, Index i) const;
  /// These sequences in this order, packed: [1, 0] exchanges the first two, [2] is the third alone.
  Call of(const std::vector<Index>& sequences) const;
};

/// L and O of a packed row.
double packed_lse(const Tensors& y, Index h, Index row);
Vector<double> packed_row(const Tensors& y, Index h, Index row);

}  // namespace assay
