#include "reference/attention/ring_schedules.hpp"

namespace assay {

Tokens shards(AttentionRingOptions::Schedule schedule, Index S, Index ranks) {
  using Schedule = AttentionRingOptions::Schedule;
  const Index parts = schedule == Schedule::zigzag ? 2 * ranks : ranks;
  if (ranks < 1 || S < 0 || S % parts != 0)
    throw Error("attention_ring: the tokens cannot be dealt to " + std::to_string(ranks) + " ranks",
                "a multiple of " + std::to_string(parts), std::to_string(S));
  const Index each = S / ranks, c = S / parts;
  Tokens tokens(static_cast<std::size_t>(ranks));
  for (Index r = 0; r < ranks; ++r)
    for (Index n = 0; n < each; ++n) {
      //  contiguous: r S/R + n      striped: n R + r      zigzag: chunk r, then chunk 2R-1-r, of c = S/2R
      Index t = r * each + n;
      if (schedule == Schedule::striped) t = n * ranks + r;
      if (schedule == Schedule::zigzag) t = n < c ? r * c + n : (2 * ranks - 1 - r) * c + (n - c);
      tokens[static_cast<std::size_t>(r)].push_back(t);
    }
  return tokens;
}

}  // namespace assay
