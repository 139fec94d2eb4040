#include "conformance/engine/claim.hpp"

// One token after another joins what is known: with the log-sum-exp L of those before it, token j takes the share
// w = 1 / (1 + exp(L - s_j)) of the mean, O <- (1 - w) O + w v_j with 1 - w = 1 / (1 + exp(s_j - L)), and
// L <- max(L, s_j) + ln(1 + exp(-|L - s_j|)).
namespace assay {

SECOND_OPINION(attention_paged) {
  const Call& call = e.call;
  const bool hnd = call.option("layout") == 1;
  const Tensor<Wide> q = e.tensor("q"), k = e.tensor(hnd ? "k_pages_hnd" : "k_pages"),
                     v = e.tensor(hnd ? "v_pages_hnd" : "v_pages");
  const Index B = q.shape()[0], Sq = q.shape()[1], H = q.shape()[2], d = q.shape()[3], dv = v.shape()[3];
  const Index P = k.shape()[hnd ? 2 : 1], Hkv = k.shape()[hnd ? 1 : 2], most = call["block_table"].shape()[1];
  const Wide width(static_cast<double>(d));
  const double given = call.option("scale");
  const Tensor<Wide> o({B, Sq, H, dv}, Wide(0)), lse({B, H, Sq}, Wide(-infinity));
  for (Index b = 0; b < B; ++b)
    for (Index h = 0; h < H; ++h)
      for (Index i = 0; i < Sq; ++i) {
        const Index g = h / (H / Hkv), length = static_cast<Index>(call["lens"].at_flat(b));
        Wide L(-infinity);
        for (Index j = 0; j < length; ++j) {
          if (call.option("causal") == 0 && j > length - Sq + i) continue;
          const auto page = static_cast<Index>(call["block_table"].at_flat(b * most + j / P));
          const Index at = hnd ? (page * Hkv + g) * P + j % P : (page * P + j % P) * Hkv + g;
          Wide dot(0);
          for (Index c = d; c-- > 0;) dot = dot + q.at_flat(((b * Sq + i) * H + h) * d + c) * k.at_flat(at * d + c);
          const Wide s = given == 0 ? dot / sqrt(width) : dot * Wide(given);
          const bool first = value(L) == -infinity, above = !first && value(L) > value(s);
          const Wide down = first ? Wide(0) : exp(above ? s - L : L - s);
          const Wide less = down / (Wide(1) + down), more = Wide(1) / (Wide(1) + down);
          for (Index c = 0; c < dv; ++c) {
            Wide& to = o.data()[((b * Sq + i) * H + h) * dv + c];
            to = to * (above ? more : less) + v.at_flat(at * dv + c) * (above ? less : more);
          }
          L = first ? s : (above ? L : s) + log(Wide(1) + down);
        }
        lse.data()[(b * H + h) * Sq + i] = L;
      }
  e.out("o", o);
  e.out("lse", lse);
}

}  // namespace assay
