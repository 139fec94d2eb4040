#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// Decoding over a long context: the keys of a row are cut into splits of one size, each is computed by itself, and a
// second kernel combines what the splits have written to a workspace.
namespace assay::attention_subject {

constexpr std::int64_t tile = 8, most_splits = 4;

/// What is known of a row after some keys: their maximum, the sum of exponentials, the sum of weighted values.
struct State {
  float m = -INFINITY, l = 0;
  std::vector<float> a;
};
struct Range {
  std::int64_t from, to;
};

/// Whether a call is computed in splits: few queries, more than two tiles of keys.
inline bool splits(std::int64_t Sq, std::int64_t Sk) { return Sq <= 4 && Sk > 2 * tile; }

/// The size follows from the number of keys alone: the batch must not matter.
inline std::vector<Range> plan(Subject& s, std::int64_t Sk, std::int64_t B) {
  const std::int64_t count = s.bug("split_from_batch") ? std::max<std::int64_t>(1, most_splits / B) : most_splits;
  const std::int64_t share = (Sk + count - 1) / count, size = (share + tile - 1) / tile * tile;
  const std::int64_t keys = s.bug("stale_metadata") ? Sk - 1 : Sk;  // as planned before the last key was appended
  std::vector<Range> ranges;
  for (std::int64_t from = 0; from < Sk; from += size) ranges.push_back({from, std::min(from + size, keys)});
  if (s.bug("graph_too_few")) ranges.resize(std::min<std::size_t>(ranges.size(), 2));  // as of a shorter context
  return ranges;
}

/// What a split writes: its mean and log-sum-exp.
inline State written(Subject& s, State part, float sink, bool first) {
  if (s.bug("sink_per_split") && !first && sink > -INFINITY) {  // that of the first is the one that belongs there
    const float top = std::max(part.m, sink), w = std::exp(part.m - top);
    part.l = part.l * w + std::exp(sink - top);
    for (float& c : part.a) c *= w;
    part.m = top;
  }
  if (part.m == -INFINITY) {
    if (s.bug("empty_split_unwritten")) part.m = 0;  // the workspace is zeros
    return part;
  }
  for (float& c : part.a) c /= part.l;
  const float lse = part.m + std::log(part.l), top = std::max(lse, sink);
  if (s.bug("merge_l_incl") && sink > -INFINITY)
    return {top + std::log(std::exp(lse - top) + std::exp(sink - top)), 1, part.a};
  return {lse, 1, part.a};
}

/// The state of all keys: `parts` hold L in m and the mean in a.
inline State combine(Subject& s, const std::vector<State>& parts, std::size_t width) {
  std::vector<State> slots = parts;
  if (s.bug("stale_workspace")) {  // the slots of a call with more splits are still there
    thread_local std::vector<State> kept(most_splits);
    std::copy(parts.begin(), parts.end(), kept.begin());
    slots = kept;
    for (State& slot : slots) slot.a.resize(width);
  }
  float top = -INFINITY;
  for (const State& part : slots)
    if (part.m > top || std::isnan(part.m)) top = part.m;
  if (s.bug("unused_slots_in_max") && slots.size() < most_splits) top = 3.39e38f;  // what is in fresh memory
  State all{top, 0, std::vector<float>(width)};
  const bool unguarded = s.bug("inf_minus_inf");
  for (const State& part : slots) {
    if (part.m == -INFINITY && !unguarded) continue;
    const float w = s.bug("lse_base") ? std::exp2(part.m - top) : std::exp(part.m - top);
    all.l += w;
    for (std::size_t c = 0; c < width; ++c) all.a[c] += w * part.a[c];
  }
  return all;
}

}  // namespace assay::attention_subject
