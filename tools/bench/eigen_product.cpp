#include <Eigen/Dense>

// The yardstick: compiled once per instruction set, under the name that CMake gives.
using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void ASSAY_EIGEN(const double* a, const double* b, double* c, long n) {
  Eigen::Map<Square>(c, n, n).noalias() = Eigen::Map<const Square>(a, n, n) * Eigen::Map<const Square>(b, n, n);
}
