#include "conformance/attention/second_opinion/sight.hpp"

// Pair by pair, without a matrix: dP - D as sum_c dO_c (v_c z / (1 - p) - O_c), the gradient of L_excl through the
// factor e^(L_incl - L_excl), tanh as a quotient of exponentials, weights to base e.
namespace assay {
namespace {

void add(const Tensor<Wide>& to, Index at, const Wide& x) { to.data()[at] = to.data()[at] + x; }

}  // namespace

SECOND_OPINION(attention_backward) {
  const Call& call = e.call;
  const Tensor<Wide> q = e.tensor("q"), k = e.tensor("k"), v = e.tensor("v"), o = e.tensor("o"), d_o = e.tensor("d_o");
  const Index B = q.shape()[0], Sq = q.shape()[1], H = q.shape()[2], d = q.shape()[3], Sk = k.shape()[1];
  const Index Hkv = k.shape()[2], dv = v.shape()[3];
  const Wide one(1), two(2), zero(0), C(call.option("softcap"));
  const Wide scale = call.option("scale") == 0 ? one / sqrt(Wide(static_cast<double>(d))) : Wide(call.option("scale"));
  const bool sink = e.has("sink"), excluded = sink && call.option("lse_of_sink") == 0;
  const Tensor<Wide> d_q(q.shape(), zero), d_k(k.shape(), zero), d_v(v.shape(), zero);
  const Tensor<Wide> d_bias(Shape{B, H, Sq, Sk}, zero), d_sink(Shape{B, H}, zero);
  for (Index row = 0; row < B * H * Sq; ++row) {
    const Index b = row / (H * Sq), h = row / Sq % H, i = row % Sq, at = (b * Sq + i) * H + h;
    const Wide L = e.tensor("lse").at_flat(row), dL = e.has("d_lse") ? e.tensor("d_lse").at_flat(row) : zero;
    const bool empty = value(L) == -infinity;
    const Wide g = sink ? e.vector("sink")[h] : zero;
    // ln(e^L + e^g) from the larger of the two
    const bool sink_larger = empty || value(g) > value(L);
    const Wide with = !excluded ? L : sink_larger ? g + log(one + exp(L - g)) : L + log(one + exp(g - L));
    Wide D(0);
    for (Index c = dv; c-- > 0;) D = D + d_o.at_flat(at * dv + c) * o.at_flat(at * dv + c);
    if (sink) add(d_sink, b * H + h, (excluded ? zero - D : dL - D) * exp(g - with));
    if (empty) continue;
    const Wide share = excluded ? dL * exp(with - L) : dL;
    for (Index j = 0; j < Sk; ++j) {
      if (hidden(call, b, i, j)) continue;
      const Index key = (b * Sk + j) * Hkv + h / (H / Hkv);
      Wide x(0), mod(1);
      for (Index c = d; c-- > 0;) x = x + q.at_flat(at * d + c) * k.at_flat(key * d + c) * scale;
      if (value(C) > 0) {
        const Wide up = exp(x / C), down = exp(zero - x / C), half = two / (up + down);
        x = C * ((up - down) / (up + down));
        mod = half * half;  // 1 / cosh²
      }
      if (e.has("bias")) x = x + e.tensor("bias").at_flat((h * Sq + i) * Sk + j);
      const bool gone = e.has("z") && call["z"].at_flat(row * Sk + j) == 0;
      const Wide kept = gone ? zero : e.has("z") ? one / (one - Wide(call.option("p_drop"))) : one;
      const Wide p = exp(x - with);
      Wide pull = share;
      for (Index c = 0; c < dv; ++c) {
        pull = pull + d_o.at_flat(at * dv + c) * (v.at_flat(key * dv + c) * kept - o.at_flat(at * dv + c));
        add(d_v, key * dv + c, p * kept * d_o.at_flat(at * dv + c));
      }
      d_bias.data()[row * Sk + j] = p * pull;
      for (Index c = 0; c < d; ++c) {
        add(d_q, at * d + c, p * pull * mod * scale * k.at_flat(key * d + c));
        add(d_k, key * d + c, p * pull * mod * scale * q.at_flat(at * d + c));
      }
    }
  }
  e.out("d_q", d_q);
  e.out("d_k", d_k);
  e.out("d_v", d_v);
  if (e.has("bias")) e.out("d_bias", d_bias);
  if (sink) e.out("d_sink", d_sink);
}

}  // namespace assay
