// Prints one digest a line of what the arithmetic floor computes on fixed inputs, to be compared between instruction
// sets, compilers, optimization levels and machines: reference_digest [--libm]. With --libm: of what the C library's
// elementary functions compute, which is not the same everywhere.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "reference/core/kernels.hpp"
#include "reference/core/math.hpp"
#include "reference/core/philox.hpp"
#include "reference/core/profile.hpp"
#include "reference/core/vocabulary.hpp"

namespace assay {
namespace {

/// FNV-1a over the bytes of the values, low byte first; every NaN as the canonical one.
class Digest {
 public:
  void add(double x) {
    const std::uint64_t bits = x != x ? 0x7ff8000000000000u : std::bit_cast<std::uint64_t>(x);
    for (int byte = 0; byte < 8; ++byte) state_ = (state_ ^ (bits >> (8 * byte) & 0xff)) * 0x100000001b3u;
  }
  void add(const std::vector<double>& x) {
    for (const double v : x) add(v);
  }
  void print(const std::string& what) const {
    std::printf("%016llx %s\n", static_cast<unsigned long long>(state_), what.c_str());
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

/// Draws without any function of ours but Philox: exact multiples of 2^-53 times a power of two.
std::vector<double> numbers(std::uint32_t stream, Index n, double scale, int exponents) {
  std::vector<double> x;
  for (Index i = 0; i < n; ++i) {
    const PhiloxCounter w = philox4x32({static_cast<std::uint32_t>(i), stream, 0, 0}, {1, 2});
    const int e = static_cast<int>(w[2] % static_cast<std::uint32_t>(exponents)) - exponents / 2;
    x.push_back(std::ldexp((2.0 * unit(w[0], w[1]) - 1.0) * scale, e));
  }
  return x;
}

struct Function {
  const char* name;
  double (*ours)(double);
  void (*array)(const double*, double*, Index);
  double (*libm)(double);
};
constexpr Function kFunctions[] = {
    {"exp", math::exp, math::exp, std::exp},         {"exp2", math::exp2, math::exp2, std::exp2},
    {"expm1", math::expm1, math::expm1, std::expm1}, {"log", math::log, math::log, std::log},
    {"log2", math::log2, math::log2, std::log2},     {"log1p", math::log1p, math::log1p, std::log1p},
    {"sin", math::sin, math::sin, std::sin},         {"cos", math::cos, math::cos, std::cos},
    {"tanh", math::tanh, math::tanh, std::tanh},     {"erf", math::erf, math::erf, std::erf}};

std::vector<double> arguments() {
  std::vector<double> x = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 709.782712, 0x1p1020, 0x1p-1074};
  for (const double scale : {1.0, 4.0, 30.0, 760.0})
    for (const double v : numbers(1, 10000, scale, 1)) x.push_back(v);
  for (const double v : numbers(2, 10000, 1.0, 2000)) x.push_back(v);
  return x;
}

void functions(bool libm) {
  const std::vector<double> x = arguments();
  std::vector<double> y(x.size());
  for (const Function& f : kFunctions) {
    Digest scalar, array;
    for (const double v : x) scalar.add(libm ? f.libm(v) : f.ours(v));
    scalar.print(f.name);
    if (libm) continue;
    f.array(x.data(), y.data(), static_cast<Index>(x.size()));
    array.add(y);
    array.print(std::string(f.name) + " of an array");
  }
  Digest pow;
  for (std::size_t i = 1; i < x.size(); ++i) {
    pow.add(libm ? std::pow(std::fabs(x[i]), x[i - 1] / 8) : math::pow(std::fabs(x[i]), x[i - 1] / 8));
  }
  pow.print("pow");
}

void products() {
  Digest d;
  for (const Index n : {1, 3, 8, 17, 40}) {
    const std::vector<double> a = numbers(3, n * 50, 1.0, 60), b = numbers(4, 50 * 31, 1.0, 60);
    std::vector<double> c(static_cast<std::size_t>(n * 31));
    kernels::matmul(a.data(), 50, 1, b.data(), 31, 1, c.data(), 31, n, 31, 50);
    d.add(c);
    kernels::matmul(a.data(), 1, n, b.data(), 1, 50, c.data(), 31, n, 31, 50);
    d.add(c);
  }
  d.print("matmul");
  // Large enough to be shared between threads.
  Digest large;
  const Index n = 130;
  const std::vector<double> a = numbers(8, n * n, 1.0, 60), b = numbers(9, n * n, 1.0, 60);
  std::vector<double> c(a.size());
  kernels::matmul(a.data(), n, 1, b.data(), n, 1, c.data(), n, n, n, n);
  large.add(c);
  large.print("matmul in threads");
}

void rows() {
  Digest sums, maps, softmax;
  for (const Index n : {1, 7, 8, 9, 100, 513, 4099}) {
    const std::vector<double> x = numbers(5, n, 1.0, 100), w = numbers(6, n, 2.0, 1);
    std::vector<double> y = x, cancelling = numbers(7, n, 1.0, 200);
    for (Index i = n; i-- > 0;) cancelling.push_back(-cancelling[static_cast<std::size_t>(i)]);
    sums.add(kernels::sum(x.data(), n));
    sums.add(kernels::sum(cancelling.data(), 2 * n));  // rounding errors alone: every detail of the order shows
    sums.add(kernels::sum_squares(x.data(), n));
    sums.add(kernels::sum_products(x.data(), 1, w.data(), 1, n));
    kernels::scale_multiply(x.data(), 0.3, w.data(), y.data(), n);
    maps.add(y);
    kernels::scale_multiply_add(x.data(), 0.3, w.data(), x.data(), y.data(), n);
    maps.add(y);
    kernels::divide(x.data(), 0.3, y.data(), n);
    maps.add(y);
    const double total = kernels::subtract_exp_sum(w.data(), kernels::max(w.data(), n), y.data(), n);
    softmax.add(total);
    kernels::divide(y.data(), total, y.data(), n);
    softmax.add(y);
  }
  sums.print("sums");
  maps.print("elementwise");
  softmax.print("softmax row");
}

void means() {
  Digest d;
  for (const Index n : {1, 7, 16, 100, 300}) {
    const auto matrix = [](std::uint32_t tensor, Index rows, Index cols) {
      return fill(Profile::normal, {rows, cols}, 19, tensor).matrix();
    };
    Mask window(70, n, 1);
    for (Index i = 0; i < 70; ++i)
      for (Index j = 0; j < n; ++j) window(i, j) = j >= i - 20 && j <= i + 30;
    const SoftmaxMean<double> y = softmax_mean(matrix(0, 70, n), matrix(1, n, 5), window, matrix(2, 1, 70).row(0));
    for (Index i = 0; i < 70; ++i) {
      d.add(y.lse[i]);
      for (Index c = 0; c < 5; ++c) d.add(y.o(i, c));
    }
  }
  d.print("softmax_mean");
}

void profiles() {
  for (const Profile p : all_profiles()) {
    Digest d;
    const Tensor<double> x = fill(p, {2, 9, 33}, 17, 4), rounded = fill(p, {2, 9, 33}, 17, 4, &formats::bf16);
    for (Index i = 0; i < x.size(); ++i) d.add(x.at_flat(i)), d.add(rounded.at_flat(i));
    d.print("profile " + std::string(name(p)));
  }
  Digest large;
  const Tensor<double> x = fill(Profile::normal, {2, 300, 64}, 17, 4);
  for (Index i = 0; i < x.size(); ++i) large.add(x.at_flat(i));
  large.print("profile normal in threads");
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  const bool libm = argc == 2 && std::strcmp(argv[1], "--libm") == 0;
  if (argc > 1 && !libm) {
    std::fprintf(stderr, "usage: reference_digest [--libm]\n");
    return 2;
  }
  try {
    assay::functions(libm);
    if (libm) return 0;
    assay::products();
    assay::rows();
    assay::means();
    assay::profiles();
  } catch (const assay::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 3;
  }
}
