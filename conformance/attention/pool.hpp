#pragma once
#include <utility>
#include <vector>

#include "conformance/engine/claim.hpp"

// What the claims on paged attention change in a call: places in the pool, and the same tokens in other pages.
namespace assay {

/// A slot of the pool: page, slot of it.
using Place = std::pair<Index, Index>;
bool among(const std::vector<Place>& places, const Place& one);

/// A call of attention_paged, to be read and changed.
class Pool {
 public:
  explicit Pool(const Call& of);
  Call call;
  Index B, Sq, H, Hkv, Npages, P, maxblk, d, dv;

  Index length(Index b) const { return static_cast<Index>(call["lens"].at_flat(b)); }
  /// Where token t of request b lies.
  Place place(Index b, Index t) const;
  /// How many tokens query i of request b sees: the first so many of them.
  Index seen(Index b, Index i) const;
  /// The slots a query sees; those that any request has tokens in.
  std::vector<Place> seen_places(Index b, Index i) const;
  std::vector<Place> used_places() const;

  /// The key, and the value, of a slot. What they change they change in this call alone.
  double& k(const Place& at, Index g, Index c) const { return element(keys_, at, g, c); }
  double& v(const Place& at, Index g, Index c) const { return element(values_, at, g, c); }
  void fill(const Place& at, double value) const;
  void set_length(Index b, Index n) const { lens_.data()[b] = static_cast<double>(n); }
  void set_page(Index b, Index block, Index page) const {
    table_.data()[b * maxblk + block] = static_cast<double>(page);
  }

 private:
  double& element(const Tensor<double>& x, const Place& at, Index g, Index c) const;
  bool hnd_;
  Tensor<double> keys_, values_, lens_, table_;
};

/// The same requests with pages of P slots and room for `room` more tokens each, no page shared: one request after the
/// other from page 0 on, or in every second page from the last downwards, pages 0 and 1 unused. Free slots hold 3.
Pool repaged(const Pool& of, Index P, bool in_order, Index room);

/// A case with requests, queries and tokens in it.
Check& with_tokens(Check& check);

}  // namespace assay
