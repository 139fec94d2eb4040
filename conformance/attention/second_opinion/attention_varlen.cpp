#include "conformance/engine/claim.hpp"

// Every packed query against every packed key, hidden where their sequences differ; p_j = 1 / sum_k exp(s_k - s_j), the
// differences of every pair of visible logits, and L = s_top + ln(1 / p_top).
namespace assay {
namespace {

/// The sequence of each packed row; its place in it; how long it is.
struct Owner {
  std::vector<Index> sequence, place, length;
};

Owner owners(const Tensor<double>& ends, Index total) {
  Owner of;
  for (Index row = 0; row < total; ++row) {
    Index r = 0;
    while (static_cast<Index>(ends.at_flat(r + 1)) <= row) ++r;
    of.sequence.push_back(r);
    of.place.push_back(row - static_cast<Index>(ends.at_flat(r)));
  }
  for (Index r = 0; r + 1 < ends.size(); ++r)
    of.length.push_back(static_cast<Index>(ends.at_flat(r + 1) - ends.at_flat(r)));
  return of;
}

}  // namespace

SECOND_OPINION(attention_varlen) {
  const Tensor<Wide> q = e.tensor("q"), k = e.tensor("k"), v = e.tensor("v");
  const Index Tq = q.shape()[0], H = q.shape()[1], d = q.shape()[2], Tk = k.shape()[0];
  const Index Hkv = k.shape()[1], dv = v.shape()[2];
  const Owner queries = owners(e.call["cu_q"], Tq), keys = owners(e.call["cu_k"], Tk);
  const Wide width(static_cast<double>(d));
  const double given = e.call.option("scale");
  const Tensor<Wide> o({Tq, H, dv}, Wide(0)), lse({H, Tq}, Wide(-infinity));
  for (Index h = 0; h < H; ++h)
    for (Index i = 0; i < Tq; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const auto r = static_cast<std::size_t>(queries.sequence[at]);
      std::vector<Index> seen;
      std::vector<Wide> s;
      std::size_t top = 0;
      for (Index j = 0; j < Tk; ++j) {
        const auto key = static_cast<std::size_t>(j);
        if (keys.sequence[key] != queries.sequence[at]) continue;
        const Index from_end = queries.length[r] - queries.place[at], key_from_end = keys.length[r] - keys.place[key];
        if (e.call.option("causal") == 0 && key_from_end < from_end) continue;
        Wide dot(0);
        for (Index c = d; c-- > 0;)
          dot = dot + q.at_flat((i * H + h) * d + c) * k.at_flat((j * Hkv + h / (H / Hkv)) * d + c);
        s.push_back(given == 0 ? dot / sqrt(width) : dot * Wide(given));
        seen.push_back(j);
        if (value(s.back()) > value(s[top])) top = s.size() - 1;
      }
      for (std::size_t m = 0; m < s.size(); ++m) {
        Wide all(0);
        for (const Wide& other : s) all = all + exp(other - s[m]);
        for (Index c = 0; c < dv; ++c) {
          Wide& to = o.data()[(i * H + h) * dv + c];
          to = to + v.at_flat((seen[m] * Hkv + h / (H / Hkv)) * dv + c) / all;
        }
        if (m == top) lse.data()[h * Tq + i] = s[top] + log(all);
      }
    }
  e.out("o", o);
  e.out("lse", lse);
}

}  // namespace assay
