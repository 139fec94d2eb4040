#include "reference/attention/mla_cache.hpp"

#include <cmath>

namespace assay {

template <class T>
Matrix<T> rope_pairs(const Matrix<T>& x, const Matrix<T>& cos, const Matrix<T>& sin) {
  const Index r = cos.cols();
  require_shape("columns to rotate", shape(x), {cos.rows(), 2 * r});
  require_shape("sin", shape(sin), shape(cos));
  std::vector<Index> even, odd, back;
  for (Index t = 0; t < r; ++t) {
    even.push_back(2 * t);
    odd.push_back(2 * t + 1);
    back.push_back(t);
    back.push_back(r + t);
  }
  //  (x_2t, x_2t+1) -> (x_2t cos_t - x_2t+1 sin_t, x_2t sin_t + x_2t+1 cos_t)
  const Matrix<T> a = take_cols(x, even), b = take_cols(x, odd);              // [S, r]
  return take_cols(concat_cols(a * cos - b * sin, a * sin + b * cos), back);  // [S, 2 r]
}

template <class T>
PackedLatent<T> pack_latent(const Matrix<T>& x, Index width) {
  const Index groups = width == 0 ? 0 : x.cols() / width;
  const Matrix<double> v = values(x);
  PackedLatent<T> y{Matrix<T>(x.rows(), x.cols()), Matrix<T>(x.rows(), x.cols()), Matrix<T>(x.rows(), groups)};
  for (Index i = 0; i < x.rows(); ++i) {
    for (Index g = 0; g < groups; ++g) {
      double amax = 0;
      for (Index c = g * width; c < (g + 1) * width; ++c) amax = std::fabs(v(i, c)) > amax ? std::fabs(v(i, c)) : amax;
      //  scale = 2^ceil(log2(max(amax / 448, 1e-4)))   the smallest power of two not below either; 2^-14 < 1e-4 < 2^-13
      double scale = 0x1p-13;
      while (448 * scale < amax && scale < 0x1p1000) scale *= 2;
      y.scales(i, g) = T(scale);
      //  code = e4m3(c / scale)      c^ = scale code
      for (Index c = g * width; c < (g + 1) * width; ++c) {
        const std::uint64_t code = encode(formats::e4m3, v(i, c) / scale, Round::nearest_even);
        y.codes(i, c) = T(static_cast<double>(code));
        y.c(i, c) = T(scale * decode(formats::e4m3, code));
      }
    }
  }
  return y;
}

#define ASSAY_INSTANTIATE(T)                                                           \
  template Matrix<T> rope_pairs(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&); \
  template PackedLatent<T> pack_latent(const Matrix<T>&, Index);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay
