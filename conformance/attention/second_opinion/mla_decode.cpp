#include <algorithm>
#include <cmath>

#include "conformance/engine/claim.hpp"

// Neither keys nor queries are projected: a logit is the double sum of q_n W_an c_a. p_j = 1 / sum_k exp(s_k - s_j),
// without a maximum. Of e4m3 the nearest of all codes is looked for.
namespace assay {
namespace {

struct Sizes {
  Index B, Sk, ng, gw, dc, dr, Sq, H, dn, dvh;
};

Sizes sizes_of(const Call& call) {
  const Shape &c = call["c"].shape(), &q = call["q_nope"].shape();
  return {c[0], c[1], c[2], c[3], c[2] * c[3], call["k_rope"].shape()[2], q[1], q[2], q[3], call["w_uv"].shape()[2]};
}

/// The value of an e4m3 code without sign.
double magnitude(int code) {
  const int e = code / 8, m = code % 8;
  return e == 0 ? m * 0x1p-9 : (8 + m) * 0x1p-10 * static_cast<double>(1 << e);
}

int nearest(double x) {  // of |x|; a tie goes to the even code
  int best = 0;
  for (int code = 1; code < 127; ++code) {
    const double d = std::fabs(magnitude(code) - x), before = std::fabs(magnitude(best) - x);
    if (d < before || (d == before && code % 2 == 0)) best = code;
  }
  return best;
}

/// (x, y) turned by the angle with this cosine and sine, pair by pair, in place.
void turn(Wide* x, Index dr, const Matrix<Wide>& cos, const Matrix<Wide>& sin, Index at) {
  for (Index t = 0; 2 * t < dr; ++t) {
    const Wide a = x[2 * t], b = x[2 * t + 1];
    x[2 * t] = cos(at, t) * a - sin(at, t) * b;
    x[2 * t + 1] = cos(at, t) * b + sin(at, t) * a;
  }
}

void pack(const Sizes& n, const Tensor<Wide>& c, const Tensor<Wide>& codes, const Tensor<Wide>& scales) {
  for (Index g = 0; g < n.B * n.Sk * n.ng; ++g) {
    double top = 0, scale = 1;
    for (Index a = 0; a < n.gw; ++a) top = std::max(top, std::fabs(value(c.data()[g * n.gw + a])));
    while (scale > 0x1p-13 && top <= 448 * (scale / 2)) scale /= 2;
    while (top > 448 * scale) scale *= 2;
    scales.data()[g] = Wide(scale);
    for (Index a = 0; a < n.gw; ++a) {
      Wide& x = c.data()[g * n.gw + a];
      const bool minus = std::signbit(value(x));
      const int code = nearest(std::fabs(value(x)) / scale);
      codes.data()[g * n.gw + a] = Wide(code + (minus ? 128 : 0));
      x = Wide((minus ? -scale : scale) * magnitude(code));
    }
  }
}

}  // namespace

SECOND_OPINION(mla_decode) {
  const Call& call = e.call;
  const Sizes n = sizes_of(call);
  const Tensor<Wide> c = e.tensor("c").clone(), kr = e.tensor("k_rope").clone(), qr = e.tensor("q_rope").clone();
  const Tensor<Wide> qn = e.tensor("q_nope"), uk = e.tensor("w_uk"), uv = e.tensor("w_uv");
  const Tensor<Wide> o({n.B, n.Sq, n.H, n.dvh}, Wide(0)), lse({n.B, n.H, n.Sq}, Wide(-infinity));
  const Wide one(1);
  if (call.option("latent") == 1) {
    const Vector<Wide> gain = e.vector("gain");
    for (Index row = 0; row < n.B * n.Sk; ++row) {
      Wide square(0);
      for (Index a = n.dc; a-- > 0;) square = square + c.data()[row * n.dc + a] * c.data()[row * n.dc + a];
      const Wide norm = sqrt(square / Wide(static_cast<double>(n.dc)) + Wide(call.option("eps")));
      for (Index a = 0; a < n.dc; ++a) c.data()[row * n.dc + a] = c.data()[row * n.dc + a] * gain[a] / norm;
      turn(kr.data() + row * n.dr, n.dr, e.matrix("cos"), e.matrix("sin"), row % n.Sk);
    }
    for (Index row = 0; row < n.B * n.Sq * n.H; ++row)
      turn(qr.data() + row * n.dr, n.dr, e.matrix("cos_q"), e.matrix("sin_q"), row / n.H % n.Sq);
    e.out("c_cache", c);
    e.out("k_cache", kr);
  }
  if (call.option("latent") == 2) {
    const Tensor<Wide> codes(c.shape()), scales({n.B, n.Sk, n.ng}, Wide(0));
    pack(n, c, codes, scales);
    e.out("codes", codes);
    e.out("scales", scales);
  }
  const Wide stretch = one + Wide(call.option("mscale_all_dim")) / Wide(10) * log(Wide(call.option("factor")));
  const Wide width = sqrt(Wide(static_cast<double>(n.dn + n.dr)));
  for (Index b = 0; b < n.B; ++b)
    for (Index h = 0; h < n.H; ++h)
      for (Index i = 0; i < n.Sq; ++i) {
        std::vector<Wide> s;
        std::vector<Index> seen;
        for (Index j = 0; j < n.Sk; ++j) {
          if (call.option("causal") == 0 && j > i + n.Sk - n.Sq) continue;
          if (call.inputs.has("mask") && call["mask"].at_flat((b * n.Sq + i) * n.Sk + j) == 0) continue;
          Wide dot(0);
          for (Index a = 0; a < n.dc; ++a)
            for (Index m = 0; m < n.dn; ++m)
              dot = dot + qn.at_flat(((b * n.Sq + i) * n.H + h) * n.dn + m) *
                              (uk.at_flat((a * n.H + h) * n.dn + m) * c.data()[(b * n.Sk + j) * n.dc + a]);
          for (Index t = 0; t < n.dr; ++t)
            dot = dot + qr.data()[((b * n.Sq + i) * n.H + h) * n.dr + t] * kr.data()[(b * n.Sk + j) * n.dr + t];
          s.push_back(dot * stretch / width * stretch);
          seen.push_back(j);
        }
        Wide best(-infinity), tail(0);
        for (std::size_t j = 0; j < s.size(); ++j) {
          Wide all(0);
          for (const Wide& other : s) all = all + exp(other - s[j]);
          if (value(s[j]) > value(best)) best = s[j], tail = all;
          for (Index m = 0; m < n.dvh; ++m) {
            Wide v(0);
            for (Index a = 0; a < n.dc; ++a)
              v = v + c.data()[(b * n.Sk + seen[j]) * n.dc + a] * uv.at_flat((a * n.H + h) * n.dvh + m);
            Wide& to = o.data()[((b * n.Sq + i) * n.H + h) * n.dvh + m];
            to = to + v / all;
          }
        }
        if (!s.empty()) lse.data()[(b * n.H + h) * n.Sq + i] = best + log(tail);
      }
  e.out("o", o);
  e.out("lse", lse);
}

}  // namespace assay
