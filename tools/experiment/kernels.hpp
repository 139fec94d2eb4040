#pragma once
#include "tools/experiment/machine.hpp"

// Honest kernels, written as kernels are (fp32 inside, any schedule, any of the common forms of a formula), and
// dishonest ones. A row in, a row out, before the output's rounding.
namespace assay::experiment {

/// How a kernel computes: drawn anew for each row.
struct Style {
  Schedule schedule = Schedule::forward;
  int exp =
      0;  // 0 correctly rounded; within 2.5 ulp: 1 random, 2 biased by +2 ulp, 3 a smooth error, 4 biased by -2 ulp
  int log = 0;              // the same forms
  int rsqrt = 0;            // 0 1/sqrt; 1 random 1.5 ulp, 2 biased by +1.5 ulp
  bool reciprocal = false;  // x * (1/d) for x / d
  int online = 0;           // softmax: 0 two passes, else running maximum and sum over tiles of that many
  bool fold = false;        // norms: x * (r * w) for (x * r) * w
  bool fused = false;       // fma where a kernel may fuse
  int variance = 0;         // layer norm: 0 two-pass, 1 Welford, 2 Welford in 8 lanes joined by Chan's formula
};
Style draw_style(Schedule s, Random& random);

/// Planted errors, one at a time.
enum class Planted {
  none,
  acc_bf16,       // sums accumulated in bf16
  last_dropped,   // the last term of the sum
  eps_outside,    // 1 / (sqrt(mean) + eps)
  rsqrt_2_12,     // rsqrt with relative error 2^-12
  squares_16bit,  // squares rounded to bf16 before they are added
  one_pass,       // E[x^2] - mean^2
  exp_16bit,      // exponentials rounded to fp16
  scale_1e3,      // logits scaled by 1.001
  out_truncated,  // the output rounded toward zero
  out_twice       // the output rounded to fp16 and then again
};
const char* name(Planted p);

struct SoftmaxRow {
  Floats p, log_p;
  float lse = 0;
};
SoftmaxRow softmax(const Floats& x, const Style& style, const Accumulator& acc, Random& random, Planted bug);
Floats rms_norm(const Floats& x, const Floats& w, float eps, const Style& style, const Accumulator& acc, Random& random,
                const Format* cast, Planted bug);
Floats layer_norm(const Floats& x, const Floats& w, const Floats& b, float eps, const Style& style,
                  const Accumulator& acc, Random& random, Planted bug);

}  // namespace assay::experiment
