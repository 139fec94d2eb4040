#include "reference/core/kernels/parts.h"

#if defined(ASSAY_KERNELS_AVX512)
#define ASSAY_TABLE assay_kernels_avx512
#elif defined(ASSAY_KERNELS_AVX2)
#define ASSAY_TABLE assay_kernels_avx2
#else
#define ASSAY_TABLE assay_kernels_base
#endif

// In the order of the declaration; a swapped line of another type does not compile, one of the same type fails a test.
namespace isa = ASSAY_ISA;
const struct assay_kernels ASSAY_TABLE = {isa::matmul,
                                          isa::sum,
                                          isa::sum_squares,
                                          isa::sum_products,
                                          isa::max,
                                          isa::center,
                                          isa::scale,
                                          isa::divide,
                                          isa::subtract_exp,
                                          isa::add,
                                          isa::subtract,
                                          isa::multiply,
                                          isa::scale_multiply,
                                          isa::scale_multiply_add,
                                          isa::subtract_exp_sum,
                                          isa::exp,
                                          isa::exp2,
                                          isa::expm1,
                                          isa::log,
                                          isa::log2,
                                          isa::log1p,
                                          isa::sin,
                                          isa::cos,
                                          isa::tanh,
                                          isa::erf};
