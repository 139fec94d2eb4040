#include "conformance/engine/adjoint.hpp"

namespace assay {
namespace {

template <class T>
Matrix<Bound> as_matrix(const Tensor<T>& x, Bound (*of)(const T&)) {
  Matrix<Bound> z(x.shape()[0], x.rank() > 1 ? x.shape()[1] : 1);
  for (Index i = 0, n = x.size(); i < n; ++i) z(i / z.cols(), i % z.cols()) = of(x.at_flat(i));
  return z;
}

}  // namespace

Tensors along(const Call& call, const std::string& input) {
  const Tensor<double> v = call[input].clone();
  for (Index i = 0, n = v.size(); i < n; ++i) v.data()[i] = static_cast<double>((i * 7 + 3) % 11 - 5) / 4;
  Tensors d;
  d.set(input, v, nullptr);
  return d;
}

Matrix<Bound> cotangent(Index rows, Index cols) {
  Matrix<Bound> g(rows, cols);
  for (Index i = 0; i < rows * cols; ++i) g(i / cols, i % cols) = Bound(static_cast<double>((i * 5 + 2) % 9 - 4) / 2);
  return g;
}

Matrix<Bound> derivative(const Tensor<Dual>& y) {
  return as_matrix<Dual>(y, [](const Dual& x) { return x.d; });
}

Matrix<Bound> lifted(const Tensor<double>& x) {
  return as_matrix<double>(x, [](const double& v) { return Bound(v); });
}

}  // namespace assay
