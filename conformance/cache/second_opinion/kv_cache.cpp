#include "conformance/engine/claim.hpp"

// A rotation as a product of complex numbers, (a + i b) (cos + i sin), and a logit as the real part of a query times
// the conjugate of a key; p_j = 1 / sum_k exp(s_k - s_j), the differences of every pair of logits.
namespace assay {
namespace {

struct Complex {
  Wide re, im;
};
Complex times(const Complex& x, const Complex& y) { return {x.re * y.re - x.im * y.im, x.im * y.re + x.re * y.im}; }

}  // namespace

SECOND_OPINION(kv_cache) {
  const Tensor<Wide> q = e.tensor("q"), k = e.tensor("k"), v = e.tensor("v"), cos = e.tensor("cos"),
                     sin = e.tensor("sin");
  const Tensor<Wide> k_new = e.tensor("k_cache").clone(), v_new = e.tensor("v_cache").clone();
  const Index B = q.shape()[0], n = q.shape()[1], H = q.shape()[2], d = q.shape()[3], half = d / 2;
  const Index S = k_new.shape()[1], Hkv = k_new.shape()[2], dv = v_new.shape()[3];
  const bool at_write = e.call.option("rope") == 0;
  const double given = e.call.option("scale");
  const Wide width(static_cast<double>(d));
  const Tensor<Wide> o({B, n, H, dv}, Wide(0));
  const auto pair = [half](const Tensor<Wide>& x, Index row, Index c) {
    return Complex{x.at_flat(row * 2 * half + c), x.at_flat(row * 2 * half + c + half)};
  };
  const auto angle = [&](Index p, Index c) { return Complex{cos.at_flat(p * half + c), sin.at_flat(p * half + c)}; };
  for (Index b = 0; b < B; ++b) {
    const auto past = static_cast<Index>(e.call["past"].at_flat(b)),
               shift = static_cast<Index>(e.call["shift"].at_flat(b));
    for (Index i = 0; i < n; ++i)
      for (Index g = 0; g < Hkv; ++g) {
        const Index from = (b * n + i) * Hkv + g, to = (b * S + past + i) * Hkv + g;
        for (Index c = 0; c < half; ++c) {
          const Complex raw = pair(k, from, c), x = at_write ? times(raw, angle(past + i + shift, c)) : raw;
          k_new.data()[to * d + c] = x.re;
          k_new.data()[to * d + c + half] = x.im;
        }
        for (Index c = 0; c < dv; ++c) v_new.data()[to * dv + c] = v.at_flat(from * dv + c);
      }
    for (Index h = 0; h < H; ++h)
      for (Index i = 0; i < n; ++i) {
        std::vector<Wide> s;
        for (Index t = 0; t <= past + i; ++t) {
          Wide dot(0);
          for (Index c = half; c-- > 0;) {
            const Complex query = times(pair(q, (b * n + i) * H + h, c), angle(past + i + shift, c));
            const Complex kept = pair(k_new, (b * S + t) * Hkv + h / (H / Hkv), c);
            const Complex key = at_write ? kept : times(kept, angle(t + shift, c));
            dot = dot + query.im * key.im + query.re * key.re;
          }
          s.push_back(given == 0 ? dot / sqrt(width) : dot * Wide(given));
        }
        for (std::size_t t = 0; t < s.size(); ++t) {
          Wide all(0);
          for (const Wide& other : s) all = all + exp(other - s[t]);
          for (Index c = 0; c < dv; ++c) {
            Wide& to = o.data()[((b * n + i) * H + h) * dv + c];
            to = to + v_new.at_flat(((b * S + static_cast<Index>(t)) * Hkv + h / (H / Hkv)) * dv + c) / all;
          }
        }
      }
  }
  e.out("o", o);
  e.out("k_new", k_new);
  e.out("v_new", v_new);
}

}  // namespace assay
