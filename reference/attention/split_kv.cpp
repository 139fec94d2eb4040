#include "reference/attention/split_kv.hpp"

#include <algorithm>

namespace assay {
namespace {

std::vector<Index> range(Index from, Index to) {
  std::vector<Index> keys;
  for (Index j = from; j < to; ++j) keys.push_back(j);
  return keys;
}

void at_least_one(const char* what, Index n) {
  if (n < 1) throw Error(std::string("splits of keys: ") + what, "at least 1", std::to_string(n));
}

}  // namespace

Chunks splits_by_count(Index keys, Index count) {
  at_least_one("count", count);
  Chunks splits;
  for (Index k = 0; k < count; ++k) splits.push_back(range(keys * k / count, keys * (k + 1) / count));
  return splits;
}

Chunks splits_by_size(Index keys, Index size) {
  at_least_one("size", size);
  Chunks splits;
  for (Index from = 0; from < keys; from += size) splits.push_back(range(from, std::min(from + size, keys)));
  return splits;
}

template <class T>
std::vector<SoftmaxMean<T>> split_states(const SeenLogits<T>& in, const Chunks& splits) {
  //  L_k = ln sum_{j in I_k} exp(s_j)      O_k = sum_{j in I_k} exp(s_j - L_k) v_j
  std::vector<SoftmaxMean<T>> states;
  for (const std::vector<Index>& keys : splits)
    states.push_back(softmax_mean(take_cols(in.x, keys), take_rows(in.v, keys), Mask(), Vector<T>()));
  return states;
}

template <class T>
Attention<T> attention_split(const SeenLogits<T>& in, const Chunks& splits) {
  //  (L, O) = merge of all (L_k, O_k)
  const SoftmaxMean<T> y = merge_parts(split_states(in, splits), in.x.rows(), in.v.cols());
  return {at(Site::output, y.o), at(Site::statistic, y.lse)};
}

#define ASSAY_INSTANTIATE(T)                                                              \
  template std::vector<SoftmaxMean<T>> split_states(const SeenLogits<T>&, const Chunks&); \
  template Attention<T> attention_split(const SeenLogits<T>&, const Chunks&);
ASSAY_READINGS(ASSAY_INSTANTIATE)

}  // namespace assay
