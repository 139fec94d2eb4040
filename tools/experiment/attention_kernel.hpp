#pragma once
#include "tools/experiment/attention_case.hpp"

// Attention as kernels compute it, in simulated arithmetic: honest styles, and the thirty planted errors.
namespace assay::experiment {

struct AttentionStyle {
  const char* name = "one tile";
  Index tile = 4096, splits = 1;
  Schedule order = Schedule::forward;  // forward, pairwise or lanes8, within a tile
  int exp = 0;       // as in kernels.hpp: 0 correctly rounded, 1 random, 2 biased by +2 ulp, 3 smooth, 4 biased down
  bool fma = false;  // exponentials in base 2 of fma(s, c, -m c)
  bool unfused = false;  // p = e / l stored, then a product with v
};
/// The honest styles of a contract: those of the experiment that it declares.
std::vector<AttentionStyle> attention_styles(const Contract& c);

enum class AttentionBug {
  none,
  p_fp8,             // P silently in e4m3
  acc_bf16,          // o accumulated in bf16
  scale_1e3,         // softmax scale +0.1 %
  last_key,          // last key dropped
  window,            // window off by one
  lse_base2,         // base-2 LSE merged as e
  gqa_modulo,        // head h reads the keys of h mod kv_heads
  tanh_approx,       // softcap with an error of 2^-11
  top_left,          // causal mask top-left
  cap_after_mask,    // softcap after the mask
  no_rescale,        // o not rescaled when the maximum grows
  finite_mask,       // -1e4 for -inf
  scores_16bit,      // scores stored in 16 bits
  sink_per_split,    // sink added once per split
  padded_scale,      // scale of a padded head width
  partials_16bit,    // split partials in 16 bits
  exp_16bit,         // exponentials in 16 bits
  scaled_q_16bit,    // scale folded into q and rounded
  sum_bf16,          // row sum in bf16
  log2e_short,       // log2(e) as 1.4427
  out_truncated,     // output truncated
  out_twice,         // output rounded twice
  v_shifted,         // last tile: a row of V shifted by one
  sum_of_rounded,    // row sum of rounded P where the contract says unrounded, or the other way
  empty_split,       // empty split merged with lse = 0
  p_truncated,       // P truncated
  scale_1e4,         // softmax scale +0.01 %
  cap_before_scale,  // softcap before the scale
  last_coordinate,   // last coordinate of q k ignored
  v_fp8              // V through e4m3
};
inline constexpr int kAttentionBugs = 30;
const char* name(AttentionBug b);

struct AttentionResult {
  Floats o, lse;  // o is of the output's format already
};
AttentionResult attention_kernel(const AttentionCase& a, const Contract& c, const AttentionStyle& s, AttentionBug bug);

}  // namespace assay::experiment
