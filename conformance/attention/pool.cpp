#include "conformance/attention/pool.hpp"

#include <algorithm>

#include "reference/attention/paged.hpp"

namespace assay {

bool among(const std::vector<Place>& places, const Place& one) {
  return std::find(places.begin(), places.end(), one) != places.end();
}

Pool::Pool(const Call& of)
    : call(of),
      B(of.size("B")),
      Sq(of.size("Sq")),
      H(of.size("H")),
      Hkv(of.size("Hkv")),
      Npages(of.size("Npages")),
      P(of.size("P")),
      maxblk(of.size("maxblk")),
      d(of.size("d")),
      dv(of.size("dv")),
      hnd_(of.option("layout") == 1) {
  const char *k = hnd_ ? "k_pages_hnd" : "k_pages", *v = hnd_ ? "v_pages_hnd" : "v_pages";
  keys_ = of[k].clone();
  values_ = of[v].clone();
  lens_ = of["lens"].clone();
  table_ = of["block_table"].clone();
  call.set(k, keys_);
  call.set(v, values_);
  call.set("lens", lens_);
  call.set("block_table", table_);
}

double& Pool::element(const Tensor<double>& x, const Place& at, Index g, Index c) const {
  const Shape& n = x.shape();
  return x.data()[((at.first * n[1] + (hnd_ ? g : at.second)) * n[2] + (hnd_ ? at.second : g)) * n[3] + c];
}

Place Pool::place(Index b, Index t) const { return {static_cast<Index>(table_.at_flat(b * maxblk + t / P)), t % P}; }

Index Pool::seen(Index b, Index i) const {
  const Index n = length(b);
  return call.option("causal") == 0 ? std::max<Index>(0, n - Sq + i + 1) : n;
}

std::vector<Place> Pool::seen_places(Index b, Index i) const {
  std::vector<Place> all;
  for (Index t = 0; t < seen(b, i); ++t) all.push_back(place(b, t));
  return all;
}

std::vector<Place> Pool::used_places() const {
  std::vector<Place> all;
  for (Index b = 0; b < B; ++b)
    for (Index t = 0; t < length(b); ++t) all.push_back(place(b, t));
  return all;
}

void Pool::fill(const Place& at, double value) const {
  for (Index g = 0; g < Hkv; ++g) {
    for (Index c = 0; c < d; ++c) k(at, g, c) = value;
    for (Index c = 0; c < dv; ++c) v(at, g, c) = value;
  }
}

Pool repaged(const Pool& of, Index P, bool in_order, Index room) {
  Index blocks = 1;
  for (Index b = 0; b < of.B; ++b) blocks = std::max(blocks, pages_of(of.length(b) + room, P));
  const Index places = of.B * blocks, pages = in_order ? std::max<Index>(1, places) : 2 * places + 2;
  const bool hnd = of.call.option("layout") == 1;
  const auto pool = [&](Index width) {
    return Tensor<double>(hnd ? Shape{pages, of.Hkv, P, width} : Shape{pages, P, of.Hkv, width}, 3.0);
  };
  Call call = of.call;
  call.set(hnd ? "k_pages_hnd" : "k_pages", pool(of.d));
  call.set(hnd ? "v_pages_hnd" : "v_pages", pool(of.dv));
  call.set("block_table", Tensor<double>(Shape{of.B, blocks}));
  const Pool to(call);
  for (Index b = 0; b < of.B; ++b) {
    for (Index j = 0; j < blocks; ++j) {
      const Index place = b * blocks + j;
      to.set_page(b, j, in_order ? place : 2 * (places - place));
    }
    for (Index t = 0; t < of.length(b); ++t)
      for (Index g = 0; g < of.Hkv; ++g) {
        for (Index c = 0; c < of.d; ++c) to.k(to.place(b, t), g, c) = of.k(of.place(b, t), g, c);
        for (Index c = 0; c < of.dv; ++c) to.v(to.place(b, t), g, c) = of.v(of.place(b, t), g, c);
      }
  }
  return to;
}

Check& with_tokens(Check& check) {
  for (const char* size : {"B", "Sq", "maxblk"})
    if (check.c[size] == 0) check.with(size, 1);
  if (check.c.name_of("lens_is") == "zero") check.with("lens_is", "full");
  return check;
}

}  // namespace assay
