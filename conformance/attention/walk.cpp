#include "conformance/attention/walk.hpp"

#include <cmath>

#include "conformance/attention/flash.hpp"
#include "reference/attention/paged.hpp"
#include "reference/attention/ring.hpp"
#include "reference/attention/split_kv.hpp"
#include "reference/attention/varlen.hpp"
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

/// Whether the logits are scale q k and nothing else.
bool plain(const Head& h) { return h.bias.data() == nullptr && h.opt.softcap == 0; }

/// The keys that query i sees.
std::vector<Index> seen(const Head& h, Index i) {
  std::vector<Index> keys;
  for (Index j = 0; j < h.k.rows(); ++j)
    if (h.keep.data() == nullptr || h.keep(i, j)) keys.push_back(j);
  return keys;
}

Tensor<Bound> reshaped(const Matrix<Bound>& x, const Shape& shape) {
  const Tensor<Bound> y = Tensor<Bound>::uninitialised(shape);
  for (Index i = 0; i < x.rows(); ++i)
    for (Index c = 0; c < x.cols(); ++c) y.data()[i * x.cols() + c] = x(i, c);
  return y;
}

/// O [queries, dv] and L [queries] of an op of one head.
Attention<Bound> of_rows(const AttentionOutputs<Bound>& y, Index queries, Index dv) {
  return {Matrix<Bound>(y.o.storage(), y.o.data(), queries, dv, dv, 1),
          Vector<Bound>(y.lse.storage(), y.lse.data(), queries, 1)};
}

bool all_finite(const Vector<Bound>& x) {
  for (Index i = 0; i < x.size(); ++i)
    if (!std::isfinite(value(x[i]))) return false;
  return true;
}

}  // namespace

Attention<Bound> Walk::step(const Head& h, int depth) {
  const Index choice = depth == 0 ? 5 : pick(0, 6);
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
    default:
      return compute(h);
  }
}

Attention<Bound> Walk::compute(const Head& h) {
  const Index Sk = h.k.rows();
  const Tiles tiles{pick(1, 10), pick(1, 13), pick(0, 1) == 1};
  const std::string sizes = " " + std::to_string(tiles.Br) + "x" + std::to_string(tiles.Bc);
  switch (pick(0, 8)) {
    case 6:
      if (plain(h)) return by_pages(h);
      [[fallthrough]];
    case 7:
      if (plain(h)) return by_packing(h);
      [[fallthrough]];
    case 8:
      if (plain(h) && h.opt.scale == 0 && h.q.rows() > 0 && h.k.rows() > 0) return by_ring(h);
      [[fallthrough]];
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

Attention<Bound> Walk::by_pages(const Head& h) {
  // A request for each query: the keys it sees, in pages of its own all over the pool; or, with pages of one token, in
  // pages that all requests share.
  const Index Sq = h.q.rows(), Sk = h.k.rows(), P = pick(1, 5), each = pages_of(Sk, P), step = P == 1 ? 0 : each;
  const Index pages = std::max<Index>(1, P == 1 ? Sk : Sq * each), turn = pick(0, pages - 1);
  path_ += "pages of " + std::to_string(P);
  std::vector<Index> slots(static_cast<std::size_t>(pages * P), 0);
  const Tensor<Index> table(Shape{Sq, each}, Index{0}), lens(Shape{Sq}, Index{0});
  for (Index i = 0; i < Sq; ++i) {
    const std::vector<Index> keys = seen(h, i);
    lens.data()[i] = static_cast<Index>(keys.size());
    for (Index t = 0; t < lens.data()[i]; ++t) {
      const Index key = keys[static_cast<std::size_t>(t)];
      const Index page = pages - 1 - (turn + (P == 1 ? key : i * step + t / P)) % pages;
      table.data()[i * each + t / P] = page;
      slots[static_cast<std::size_t>(page * P + t % P)] = key;
    }
  }
  if (Sk == 0) slots.clear();
  const Index n = Sk == 0 ? 0 : pages;
  AttentionPagedOptions opt;
  opt.scale = h.opt.scale;
  return of_rows(attention_paged<Bound>(
                     {reshaped(h.q, {Sq, 1, 1, h.q.cols()}), reshaped(take_rows(h.k, slots), {n, P, 1, h.k.cols()}),
                      reshaped(take_rows(h.v, slots), {n, P, 1, h.v.cols()}), table, lens},
                     opt),
                 Sq, h.v.cols());
}

Attention<Bound> Walk::by_packing(const Head& h) {
  // A sequence for each query and the keys it sees, and an empty one behind them.
  const Index Sq = h.q.rows();
  path_ += "packed";
  Vector<Index> cu_q(Sq + 2), cu_k(Sq + 2);
  std::vector<Index> packed;
  for (Index i = 0; i < Sq; ++i) {
    const std::vector<Index> keys = seen(h, i);
    packed.insert(packed.end(), keys.begin(), keys.end());
    cu_q[i + 1] = i + 1;
    cu_k[i + 1] = static_cast<Index>(packed.size());
  }
  cu_q[Sq + 1] = cu_q[Sq];
  cu_k[Sq + 1] = cu_k[Sq];
  AttentionVarlenOptions opt;
  opt.scale = h.opt.scale;
  const auto total = static_cast<Index>(packed.size());
  return of_rows(attention_varlen<Bound>(
                     {reshaped(h.q, {Sq, 1, h.q.cols()}), reshaped(take_rows(h.k, packed), {total, 1, h.k.cols()}),
                      reshaped(take_rows(h.v, packed), {total, 1, h.v.cols()}), cu_q, cu_k},
                     opt),
                 Sq, h.v.cols());
}

Attention<Bound> Walk::by_ring(const Head& h) {
  // A token has a query and a key: copies of the last query, whose rows nobody asks for, or of the last key, which
  // nobody sees, make them equally many. In a named schedule where it has shards of this length, or in any other.
  const Index Sq = h.q.rows(), Sk = h.k.rows(), S = std::max(Sq, Sk), ranks = pick(1, 8), named = pick(0, 3);
  std::vector<Index> queries, keys;
  Mask keep(S, S, 0);
  for (Index t = 0; t < S; ++t) {
    queries.push_back(std::min(t, Sq - 1));
    keys.push_back(std::min(t, Sk - 1));
    for (Index j = 0; j < Sk; ++j) keep(t, j) = h.keep.data() == nullptr || h.keep(queries.back(), j);
  }
  using Schedule = AttentionRingOptions::Schedule;
  const bool whole = named > 0 && S > 0 && S % (2 * ranks) == 0;
  const Tokens tokens = whole ? shards(named == 1   ? Schedule::contiguous
                                       : named == 2 ? Schedule::zigzag
                                                    : Schedule::striped,
                                       S, ranks)
                              : shuffled_chunks(check_, name_ + std::to_string(picks_++), S);
  path_ += "ring of " + std::to_string(tokens.size());
  const Attention<Bound> y = ring_forward<Bound>(
      {take_rows(h.q, queries), take_rows(h.k, keys), take_rows(h.v, keys), keep}, tokens, pick(0, 1));
  return {y.o.row_range(0, Sq), as_col(y.lse).row_range(0, Sq).col(0)};
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
}

}  // namespace assay
