#include <memory>

#include "reference/core/kernels.hpp"
#include "reference/core/profile.hpp"
#include "tools/bench/bench.hpp"

void assay_eigen_base(const double*, const double*, double*, long);
void assay_eigen_avx2(const double*, const double*, double*, long);
void assay_eigen_avx512(const double*, const double*, double*, long);

namespace assay::bench {

void eigen_product(const double* a, const double* b, double* c, long n) {
  const auto isa = kernels::isa();
  (isa == "avx512" ? assay_eigen_avx512 : isa == "avx2" ? assay_eigen_avx2 : assay_eigen_base)(a, b, c, n);
}

Group matmul() {
  Group g{"matmul", {}, {}};
  for (const Index n : {64, 256, 512, 1024}) {
    const auto a = std::make_shared<Tensor<double>>(fill(Profile::normal, {n, n}, 1, 0));
    const auto b = std::make_shared<Tensor<double>>(fill(Profile::normal, {n, n}, 1, 1));
    const auto c = std::make_shared<Tensor<double>>(Shape{n, n});
    const std::string size = std::to_string(n);
    const double flops = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    g.timed.push_back({"matmul " + size,
                       [=] { kernels::matmul_serial(a->data(), n, 1, b->data(), n, 1, c->data(), n, n, n, n); }, flops,
                       "flops"});
    g.timed.push_back({"Eigen " + size, [=] { eigen_product(a->data(), b->data(), c->data(), n); }, flops, "flops"});
    g.ratios.push_back(
        {"speed of matmul against Eigen, " + size, "Eigen " + size, "matmul " + size, n == 64 ? 0.6 : 0.8, true});
  }
  return g;
}

}  // namespace assay::bench
