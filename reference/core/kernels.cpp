#include "reference/core/kernels.hpp"

#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "reference/core/kernels/table.h"
#include "reference/core/math.hpp"
#include "reference/core/parallel.hpp"

namespace assay::kernels {
namespace {

struct Isa {
  const char* name;
  const assay_kernels* table;
  bool here;
};

Isa choose() {
  const Isa known[] = {
#if defined(__x86_64__)
    {"avx512", &assay_kernels_avx512,
     __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
    {"avx2", &assay_kernels_avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
#endif
    {"base", &assay_kernels_base, true}
  };
  const char* wanted = std::getenv("ASSAY_ISA");
  if (!wanted || !*wanted) {
    for (const Isa& isa : known)
      if (isa.here) return isa;
  }
  std::string here;
  for (const Isa& isa : known) {
    if (isa.here) here = isa.name + (here.empty() ? "" : ", " + here);
    if (isa.here && std::string(isa.name) == wanted) return isa;
  }
  throw Error("ASSAY_ISA names an instruction set that this build or this processor does not have", "one of " + here,
              "'" + std::string(wanted) + "'");
}

const Isa& chosen() {
  static const Isa isa = choose();
  return isa;
}
const assay_kernels& table() { return *chosen().table; }

double* scratch() {
  struct Free {
    void operator()(double* p) const { ::operator delete[](p, std::align_val_t(64)); }
  };
  thread_local const std::unique_ptr<double[], Free> memory(
      static_cast<double*>(::operator new[](ASSAY_MATMUL_SCRATCH * sizeof(double), std::align_val_t(64))));
  return memory.get();  // NOLINT(clang-analyzer-cplusplus.NewDelete): it lives as long as the thread
}

}  // namespace

std::string_view isa() { return chosen().name; }

void matmul_serial(const double* a, Index a_rs, Index a_cs, const double* b, Index b_rs, Index b_cs, double* c,
                   Index c_rs, Index m, Index n, Index k) {
  table().matmul(a, a_rs, a_cs, b, b_rs, b_cs, c, c_rs, m, n, k, scratch());
}

void matmul(const double* a, Index a_rs, Index a_cs, const double* b, Index b_rs, Index b_cs, double* c, Index c_rs,
            Index m, Index n, Index k) {
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  if (work < 2e6) {  // below that, waking a thread costs more than it brings
    matmul_serial(a, a_rs, a_cs, b, b_rs, b_cs, c, c_rs, m, n, k);
    return;
  }
  // One piece per thread, cut along the longer side of c: an output's chain knows nothing of the cut.
  const Index longer = m >= n ? m : n, pieces = thread_count(), piece = ((longer + pieces - 1) / pieces + 23) / 24 * 24;
  parallel_for(longer, piece, [&](Index first, Index last) {
    if (m >= n) {
      matmul_serial(a + first * a_rs, a_rs, a_cs, b, b_rs, b_cs, c + first * c_rs, c_rs, last - first, n, k);
    } else {
      matmul_serial(a, a_rs, a_cs, b + first * b_cs, b_rs, b_cs, c + first, c_rs, m, last - first, k);
    }
  });
}

double sum(const double* x, Index n, Index stride) { return table().sum(x, n, stride); }
double sum_squares(const double* x, Index n, Index stride) { return table().sum_squares(x, n, stride); }
double sum_products(const double* x, Index x_stride, const double* y, Index y_stride, Index n) {
  return table().sum_products(x, x_stride, y, y_stride, n);
}
double max(const double* x, Index n, Index stride) { return table().max(x, n, stride); }

void center(const double* x, double m, double* y, Index n) { table().center(x, m, y, n); }
void scale(const double* x, double r, double* y, Index n) { table().scale(x, r, y, n); }
void divide(const double* x, double d, double* y, Index n) { table().divide(x, d, y, n); }
void add(const double* x, const double* y, double* z, Index n) { table().add(x, y, z, n); }
void subtract(const double* x, const double* y, double* z, Index n) { table().subtract(x, y, z, n); }
void multiply(const double* x, const double* y, double* z, Index n) { table().multiply(x, y, z, n); }

void scale_multiply(const double* x, double r, const double* w, double* y, Index n) {
  table().scale_multiply(x, r, w, y, n);
}
void scale_multiply_add(const double* x, double r, const double* w, const double* b, double* y, Index n) {
  table().scale_multiply_add(x, r, w, b, y, n);
}
void subtract_exp(const double* x, double m, double* y, Index n) { table().subtract_exp(x, m, y, n); }
double subtract_exp_sum(const double* x, double m, double* y, Index n) { return table().subtract_exp_sum(x, m, y, n); }

}  // namespace assay::kernels

namespace assay::math {

void exp(const double* x, double* y, Index n) { kernels::table().exp(x, y, n); }
void exp2(const double* x, double* y, Index n) { kernels::table().exp2(x, y, n); }
void expm1(const double* x, double* y, Index n) { kernels::table().expm1(x, y, n); }
void log(const double* x, double* y, Index n) { kernels::table().log(x, y, n); }
void log2(const double* x, double* y, Index n) { kernels::table().log2(x, y, n); }
void log1p(const double* x, double* y, Index n) { kernels::table().log1p(x, y, n); }
void sin(const double* x, double* y, Index n) { kernels::table().sin(x, y, n); }
void cos(const double* x, double* y, Index n) { kernels::table().cos(x, y, n); }
void tanh(const double* x, double* y, Index n) { kernels::table().tanh(x, y, n); }
void erf(const double* x, double* y, Index n) { kernels::table().erf(x, y, n); }

}  // namespace assay::math
