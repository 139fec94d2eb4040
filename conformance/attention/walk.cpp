#include "conformance/attention/walk.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/attention/flash.hpp"
#include "conformance/attention/walk_forms.hpp"
#include "conformance/engine/adjoint.hpp"
#include "reference/attention/split_kv.hpp"
#include "reference/softmax/online.hpp"
#include "reference/softmax/safe.hpp"

// Claim attention.core.walk. A new form of attention becomes part of it by a case in compute(), a rewrite by one in
// step().
namespace assay {
namespace {

/// The head with its mask written out, so that positions no longer matter.
Head placed(const Head& h) {
  Head free = h;
  free.opt.causal = AttentionOptions::Causal::none;
  if (free.keep.data() == nullptr) free.keep = Mask(h.q.rows(), h.k.rows(), 1);
  return free;
}

/// Keys `which` alone, in that order.
Head with_keys(const Head& h, const std::vector<Index>& which) {
  Head part = placed(h);
  const auto n = static_cast<Index>(which.size());
  part.k = take_rows(h.k, which);
  part.v = take_rows(h.v, which);
  if (h.bias.data() != nullptr) part.bias = take_cols(h.bias, which);
  Mask keep(h.q.rows(), n);
  for (Index i = 0; i < h.q.rows(); ++i)
    for (Index j = 0; j < n; ++j)
      keep(i, j) = h.keep.data() == nullptr || h.keep(i, which[static_cast<std::size_t>(j)]);
  part.keep = keep;
  return part;
}

Head with_queries(const Head& h, Index first, Index last) {
  Head part = placed(h);
  part.q = h.q.row_range(first, last);
  part.keep = part.keep.row_range(first, last);
  if (h.bias.data() != nullptr) part.bias = h.bias.row_range(first, last);
  return part;
}

/// How many keys there are up to the last that is seen.
Index cached(const Head& h) {
  Index n = 0;
  for (Index i = 0; i < h.q.rows(); ++i)
    for (Index j = n; j < h.k.rows(); ++j)
      if (h.keep(i, j)) n = j + 1;
  return n;
}

bool all_finite(const Vector<Bound>& x) {
  for (Index i = 0; i < x.size(); ++i)
    if (!std::isfinite(value(x[i]))) return false;
  return true;
}

}  // namespace

Attention<Bound> Walk::step(const Head& h, int depth) {
  const Index choice = depth == 0 ? 6 : pick(0, 7);
  const auto within = [&](const char* name, Attention<Bound> (Walk::*form)(const Head&, int)) {
    path_ += std::string(name) + "(";
    Attention<Bound> y = (this->*form)(h, depth - 1);
    path_ += ")";
    return y;
  };
  switch (choice) {
    case 0:
      return within("queries", &Walk::split_queries);
    case 1:
    case 2:
      return within("keys", &Walk::split_keys);
    case 3:
      return within("permuted", &Walk::permute_keys);
    case 4:
      return pick(0, 1) == 0 ? within("padded", &Walk::pad_keys) : within("scale in q", &Walk::fold_scale);
    case 5:
      return within("decode", &Walk::decode);
    default:
      return is_plain(h) && h.q.rows() > 0 && pick(0, 1) == 0 ? compute_stored(h) : compute(h);
  }
}

Attention<Bound> Walk::compute(const Head& h) {
  const Index Sk = h.k.rows();
  const Tiles tiles{pick(1, 10), pick(1, 13), pick(0, 1) == 1};
  const std::string sizes = " " + std::to_string(tiles.Br) + "x" + std::to_string(tiles.Bc);
  switch (pick(0, 5)) {
    case 0:
      path_ += "core";
      return h.run();
    case 1: {
      path_ += "safe";
      const Softmax<Bound> safe = softmax_safe(h.logits(), h.keep, full<Bound>(h.q.rows(), -infinity), {});
      return {matmul(safe.p, h.v), safe.lse};
    }
    case 2: {
      path_ += "online";
      const Index rule = pick(0, 2);
      const ShiftRule shift = rule == 0   ? ShiftRule{}
                              : rule == 1 ? ShiftRule{ShiftRule::Kind::stale_max, stale_threshold}
                                          : ShiftRule{ShiftRule::Kind::max_plus, static_cast<double>(pick(-8, 8))};
      return attention_online(seen_logits(h), shuffled_chunks(check_, name_ + std::to_string(picks_++), Sk), shift);
    }
    case 3:
      path_ += "split";
      return attention_split(seen_logits(h), splits_by_count(Sk, pick(1, Sk + 2)));
    case 4:
      path_ += "flash1" + sizes;
      return by_flash1(flash_inputs(h), tiles).y;
    default:
      path_ += "flash2" + sizes;
      return by_flash2(flash_inputs(h), tiles).y;
  }
}

Attention<Bound> Walk::compute_stored(const Head& h) {
  const Pick draw = [this](Index low, Index high) { return pick(low, high); };
  switch (pick(0, 4)) {
    case 0:
      path_ += "paged";
      return by_pages(h, pick(1, 5), draw);
    case 1:
      path_ += "varlen";
      return by_varlen(h);
    case 2: {
      const RingForm ring = ring_form(h, draw);
      path_ += "ring of " + std::to_string(ring.tokens.size());
      return by_ring(h, ring);
    }
    default: {
      const bool absorbed = pick(0, 1) == 1;
      path_ += absorbed ? "mla absorbed" : "mla expanded";
      return by_mla(h, absorbed, pick(0, h.q.cols() - 1));
    }
  }
}

Attention<Bound> Walk::decode(const Head& h, int depth) {
  // Queries come one by one, or in chunks, and the cache then ends at the last key that one of them sees.
  const Index Sq = h.q.rows(), most = pick(0, 1) == 0 ? 1 : std::max<Index>(1, Sq);
  Attention<Bound> y{Matrix<Bound>(0, h.v.cols()), Vector<Bound>(0)};
  for (Index first = 0, last = 0; first < Sq; first = last) {
    last = std::min(Sq, first + pick(1, most));
    const Head chunk = with_queries(h, first, last);
    std::vector<Index> cache;
    for (Index j = 0, end = cached(chunk); j < end; ++j) cache.push_back(j);
    if (first > 0) path_ += ", ";
    const Attention<Bound> z = step(with_keys(chunk, cache), depth);
    y = {concat_rows(y.o, z.o), concat_rows(as_col(y.lse), as_col(z.lse)).col(0)};
  }
  return y;
}

Attention<Bound> Walk::split_queries(const Head& h, int depth) {
  const Index Sq = h.q.rows(), cut = pick(0, Sq);
  const Attention<Bound> above = step(with_queries(h, 0, cut), depth);
  path_ += ", ";
  const Attention<Bound> below = step(with_queries(h, cut, Sq), depth);
  return {concat_rows(above.o, below.o), concat_rows(as_col(above.lse), as_col(below.lse)).col(0)};
}

Attention<Bound> Walk::split_keys(const Head& h, int depth) {
  std::vector<SoftmaxMean<Bound>> parts;
  for (const std::vector<Index>& keys : shuffled_chunks(check_, name_ + std::to_string(picks_++), h.k.rows())) {
    if (!parts.empty()) path_ += ", ";
    const Attention<Bound> y = step(with_keys(h, keys), depth);
    parts.push_back({y.lse, y.o});
  }
  const SoftmaxMean<Bound> y = merge(parts);
  return {y.o, y.lse};
}

SoftmaxMean<Bound> Walk::merge(std::vector<SoftmaxMean<Bound>> parts) {
  if (pick(0, 2) == 0) return merge_parts(parts, parts.front().o.rows(), parts.front().o.cols());
  while (parts.size() > 1) {  // a neighbour each time, by any of the binary forms
    const auto k = static_cast<std::size_t>(pick(0, static_cast<Index>(parts.size()) - 2));
    const SoftmaxMean<Bound>&a = parts[k], &b = parts[k + 1];
    const Index form = all_finite(a.lse) && all_finite(b.lse) ? pick(0, 2) : 0;
    const Vector<Bound> c = log2_e<Bound>(a.lse.size()), back = log(full<Bound>(a.lse.size(), 2));
    SoftmaxMean<Bound> y = form == 0   ? softmax_merge(a, b)
                           : form == 1 ? merge_by_sigmoid(a, b)
                                       : merge_base2<Bound>({a.lse * c, a.o}, {b.lse * c, b.o});
    if (form == 2) y.lse = y.lse * back;
    parts[k] = y;
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(k) + 1);
  }
  return parts.front();
}

Attention<Bound> Walk::permute_keys(const Head& h, int depth) {
  std::vector<Index> order;
  for (const std::vector<Index>& keys : shuffled_chunks(check_, name_ + std::to_string(picks_++), h.k.rows()))
    order.insert(order.end(), keys.begin(), keys.end());
  return step(with_keys(h, order), depth);
}

Attention<Bound> Walk::pad_keys(const Head& h, int depth) {
  // Keys that nobody sees, before and after: copies of the first.
  const Index before = pick(0, 3), after = pick(0, 3), Sk = h.k.rows();
  if (Sk == 0) return step(h, depth);
  std::vector<Index> keys(static_cast<std::size_t>(before + Sk + after), 0);
  for (Index j = 0; j < Sk; ++j) keys[static_cast<std::size_t>(before + j)] = j;
  Head padded = with_keys(h, keys);
  for (Index i = 0; i < h.q.rows(); ++i)
    for (Index j = 0; j < before + Sk + after; ++j)
      if (j < before || j >= before + Sk) padded.keep(i, j) = 0;
  return step(padded, depth);
}

Attention<Bound> Walk::fold_scale(const Head& h, int depth) {
  // By a power of two, so that nothing is rounded. A scale of 0 stands for one over the root of d.
  if (h.opt.scale == 0) return step(h, depth);
  Head folded = h;
  const double by = pow2(static_cast<int>(pick(-3, 3)));
  folded.q = by * h.q;
  folded.opt.scale = h.opt.scale / by;
  return step(folded, depth);
}

CLAIM(attention.core.walk) {
  const Head h = head_of(check);
  const Attention<Bound> start = h.run();
  for (const char* name : {"first walk ", "second walk ", "third walk "}) {
    Walk walk(check, name, 4);
    const Attention<Bound> end = walk.run(h);
    agree(check, "core attention and " + walk.path(), end, start);
  }
  if (!is_plain(h)) return;
  // A walk meets these forms now and then, and on small parts: here each has the whole head.
  int picks = 0;
  const Pick pick = [&](Index low, Index high) { return check.pick("whole " + std::to_string(picks++), low, high); };
  agree(check, "core attention and pages of one slot", by_pages(h, 1, pick), start);
  agree(check, "core attention and pages", by_pages(h, pick(2, 5), pick), start);
  agree(check, "core attention and packed sequences", by_varlen(h), start);
  const Index rotary = pick(0, h.q.cols() - 1);
  agree(check, "core attention and absorbed MLA", by_mla(h, true, rotary), start);
  agree(check, "core attention and expanded MLA", by_mla(h, false, rotary), start);
  const RingForm ring = ring_form(h, pick);
  agree(check, "core attention and the ring", by_ring(h, ring), start);
  const Matrix<Bound> d_o = cotangent(h.q.rows(), h.v.cols());
  const RingGradient<Bound> back = by_ring_backward(h, ring, start, d_o);
  const AttentionVjp<Bound> expected =
      attention_vjp(h.q, h.k, h.v, h.keep, h.bias, d_o, full<Bound>(h.q.rows(), 0), h.opt);
  check.agree("dQ around the ring", back.dq, expected.dq);
  check.agree("dK around the ring", back.dk, expected.dk);
  check.agree("dV around the ring", back.dv, expected.dv);
}

}  // namespace assay
