#pragma once
#include <string>

#include "reference/core/vocabulary.hpp"
#include "tools/experiment/machine.hpp"

// Attention for the honest-kernel experiment: what is computed, on which inputs, and what the definition allows.
namespace assay::experiment {

/// One problem: q [heads * queries, d], k and v [kv_heads * keys, d]; query i of a head sits at key i + keys - queries.
struct AttentionCase {
  Index heads = 1, kv_heads = 1, queries = 1, keys = 1, d = 4;
  double scale = 1, cap = 0;  // cap 0: none
  bool causal = true, has_sink = false;
  Index window = 0;  // 0: none
  double sink = 0;
  Matrix<double> q, k, v;
  std::string says;
};
/// Whether query i sees key j.
bool sees(const AttentionCase& a, Index i, Index j);

/// What the values are like: the fifteen profiles of the experiment.
inline constexpr int kAttentionProfiles = 15;
const char* attention_profile(int profile);
AttentionCase draw_attention(int profile, const Format& in, Random& random);

/// Values that leave no room: equal keys, one-hot and constant V, small integers, one dominating key; with window, cap
/// and sink. Small ones fit one tile.
std::vector<AttentionCase> structured_attention(const Format& in, Random& random);
/// Small random cases of one tile, where the stored probabilities are emulated.
AttentionCase tiny_attention(const Format& in, Random& random);
/// Ordinary random cases: 4 heads, 128 to 333 keys.
std::vector<AttentionCase> generic_attention(const Format& in, Random& random);

/// The definition under the thread's contract: o [heads * queries, d], lse [heads * queries].
SoftmaxMean<Bound> define_attention(const AttentionCase& a);

}  // namespace assay::experiment
