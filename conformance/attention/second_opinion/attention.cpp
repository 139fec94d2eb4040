#include "conformance/attention/second_opinion/sight.hpp"

// p_j = 1 / (exp(sink - s_j) + sum_k exp(s_k - s_j)): the differences of every pair of visible logits, no maximum; L as
// s_top + ln(1 / p_top without the sink), from the entry with the largest logit.
namespace assay {
SECOND_OPINION(attention) {
  const Tensor<Wide> q = e.tensor("q"), k = e.tensor("k"), v = e.tensor("v");
  const Index B = q.shape()[0], Sq = q.shape()[1], H = q.shape()[2], d = q.shape()[3], Sk = k.shape()[1];
  const Index Hkv = k.shape()[2], dv = v.shape()[3], group = H / Hkv;
  const Wide width(static_cast<double>(d));
  const double given = e.call.option("scale"), cap = e.call.option("softcap");
  const Tensor<Wide> o({B, Sq, H, dv}, Wide(0)), lse({B, H, Sq}, Wide(-infinity));
  for (Index b = 0; b < B; ++b)
    for (Index h = 0; h < H; ++h)
      for (Index i = 0; i < Sq; ++i) {
        std::vector<Index> seen;
        std::vector<Wide> s;
        for (Index j = 0; j < Sk; ++j) {
          if (hidden(e.call, b, i, j)) continue;
          Wide dot(0);
          for (Index c = d; c-- > 0;)
            dot = dot + q.at_flat(((b * Sq + i) * H + h) * d + c) * k.at_flat(((b * Sk + j) * Hkv + h / group) * d + c);
          Wide logit = given == 0 ? dot / sqrt(width) : dot * Wide(given);
          if (cap != 0) logit = Wide(cap) * (Wide(1) - Wide(2) / (exp(Wide(2) * logit / Wide(cap)) + Wide(1)));
          if (e.has("bias")) logit = logit + e.tensor("bias").at_flat((h * Sq + i) * Sk + j);
          seen.push_back(j);
          s.push_back(logit);
        }
        const bool sink = e.has("sink"), counts = sink && e.call.option("lse_of_sink") == 1;
        const Wide g = sink ? e.vector("sink")[h] : Wide(-infinity);
        if (counts) lse.data()[(b * H + h) * Sq + i] = g;
        std::size_t top = 0;
        for (std::size_t n = 0; n < s.size(); ++n) {
          Wide others(0);
          for (const Wide& other : s) others = others + exp(other - s[n]);
          if (value(s[n]) > value(s[top])) top = n;
          const Wide all = sink ? others + exp(g - s[n]) : others;
          for (Index c = 0; c < dv; ++c) {
            Wide& to = o.data()[((b * Sq + i) * H + h) * dv + c];
            to = to + v.at_flat(((b * Sk + seen[n]) * Hkv + h / group) * dv + c) / all;
          }
        }
        if (s.empty()) continue;
        Wide others = counts ? exp(g - s[top]) : Wide(0);
        for (const Wide& other : s) others = others + exp(other - s[top]);
        lse.data()[(b * H + h) * Sq + i] = s[top] + log(others);
      }
  e.out("o", o);
  e.out("lse", lse);
}

}  // namespace assay
