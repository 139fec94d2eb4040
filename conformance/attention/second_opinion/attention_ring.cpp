#include "conformance/engine/claim.hpp"

// No ranks at all. p_j = 1 / sum_r exp(s_r - s_j), the differences of every pair of visible logits and no maximum; the
// gradient of a logit as a covariance: dS_j = p_j sum_r p_r (dO.v_j - dO.v_r), the sink with value 0 among the r.
namespace assay {
namespace {

struct Row {
  std::vector<Index> seen;
  std::vector<Wide> s, p;  // of those
  Wide p_sink = Wide(0), lse = Wide(-infinity);
};

bool hidden(const Call& call, Index b, Index i, Index j) {
  const Index S = call["q"].shape()[1];
  const auto window = static_cast<Index>(call.option("window"));
  if (call.option("causal") == 0 && j > i) return true;
  if (window > 0 && j <= i - window) return true;
  return call.inputs.has("mask") && call["mask"].at_flat((b * S + i) * S + j) == 0;
}

/// Element (b, t, h, c) of a tensor [B, S, heads, width].
Index place(const Tensor<Wide>& x, Index b, Index t, Index h, Index c) {
  const Shape& n = x.shape();
  return ((b * n[1] + t) * n[2] + h) * n[3] + c;
}

}  // namespace

SECOND_OPINION(attention_ring) {
  const Tensor<Wide> q = e.tensor("q"), k = e.tensor("k"), v = e.tensor("v");
  const bool back = e.has("grad_o"), sinks = e.has("sink");
  const Tensor<Wide> g = back ? e.tensor("grad_o") : Tensor<Wide>();
  const Vector<Wide> sink = sinks ? e.vector("sink") : Vector<Wide>();
  const Index B = q.shape()[0], S = q.shape()[1], H = q.shape()[2], d = q.shape()[3];
  const Index Hkv = k.shape()[2], dv = v.shape()[3], group = H / Hkv;
  const Wide root = sqrt(Wide(static_cast<double>(d)));
  const Tensor<Wide> o({B, S, H, dv}, Wide(0)), lse({B, H, S}, Wide(-infinity));
  const Tensor<Wide> dq(q.shape(), Wide(0)), dk(k.shape(), Wide(0)), d_v(v.shape(), Wide(0));
  const auto add = [](const Tensor<Wide>& to, Index at, const Wide& x) { to.data()[at] = to.data()[at] + x; };
  for (Index b = 0; b < B; ++b)
    for (Index h = 0; h < H; ++h)
      for (Index i = 0; i < S; ++i) {
        Row row;
        for (Index j = 0; j < S; ++j) {
          if (hidden(e.call, b, i, j)) continue;
          Wide dot(0);
          for (Index c = d; c-- > 0;)
            dot = dot + q.at_flat(place(q, b, i, h, c)) * k.at_flat(place(k, b, j, h / group, c));
          row.seen.push_back(j);
          row.s.push_back(dot / root);
        }
        const std::size_t n = row.seen.size();
        for (std::size_t a = 0; a < n; ++a) {
          Wide keys(0);
          for (const Wide& other : row.s) keys = keys + exp(other - row.s[a]);
          row.p.push_back(Wide(1) / (sinks ? keys + exp(sink[h] - row.s[a]) : keys));
          // of all these equal numbers the one from the largest logit, where nothing can overflow
          bool largest = true;
          for (const Wide& other : row.s) largest = largest && value(other) <= value(row.s[a]);
          if (largest) lse.data()[(b * H + h) * S + i] = row.s[a] + log(keys);
        }
        if (sinks && n > 0) {
          Wide others(1);
          for (const Wide& other : row.s) others = others + exp(other - sink[h]);
          row.p_sink = Wide(1) / others;
        }
        std::vector<Wide> inner;
        for (std::size_t a = 0; a < n; ++a) {
          Wide sum(0);
          for (Index c = 0; c < dv; ++c) {
            const Wide& x = v.at_flat(place(v, b, row.seen[a], h / group, c));
            add(o, place(o, b, i, h, c), row.p[a] * x);
            if (back) sum = sum + g.at_flat(place(g, b, i, h, c)) * x;
          }
          inner.push_back(sum);
        }
        for (std::size_t a = 0; a < n && back; ++a) {
          Wide spread = row.p_sink * inner[a];
          for (std::size_t r = 0; r < n; ++r) spread = spread + row.p[r] * (inner[a] - inner[r]);
          const Wide ds = row.p[a] * spread / root;
          const Index j = row.seen[a], kv = h / group;
          for (Index c = 0; c < d; ++c) {
            add(dq, place(q, b, i, h, c), ds * k.at_flat(place(k, b, j, kv, c)));
            add(dk, place(k, b, j, kv, c), ds * q.at_flat(place(q, b, i, h, c)));
          }
          for (Index c = 0; c < dv; ++c) add(d_v, place(v, b, j, kv, c), row.p[a] * g.at_flat(place(g, b, i, h, c)));
        }
      }
  e.out("o", o);
  e.out("lse", lse);
  if (!back) return;
  e.out("grad_q", dq);
  e.out("grad_k", dk);
  e.out("grad_v", d_v);
}

}  // namespace assay
