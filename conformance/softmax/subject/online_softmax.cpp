#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// Online softmax as one thread of a fused attention does it: the scores of a tile, their maximum, then the tile's
// entries from the last to the first into sums of the tile, which join the running ones.
namespace assay {

SUBJECT(online_softmax) {
  const In x = s.in("x"), v = s.in("v");
  const Out o = s.out("o"), lse = s.out("lse");
  const std::int64_t rows = x.size(0), n = x.size(1), d = v.size(1);
  if (v.size(0) != n) s.refuse("v must be [n, d] with the n of x");
  const float tile = s.number("chunk");
  if (!(tile >= 1)) s.refuse("chunk must be at least 1");
  const std::int64_t step =
      tile < static_cast<float>(n) ? static_cast<std::int64_t>(tile) : std::max<std::int64_t>(n, 1);
  const float none = -INFINITY;
  const float tau = s.option("reference", "stale_max") ? 8 * 0.693147181f : 0;
  const bool bug_factor = s.bug("factor_from_new_max"), bug_o = s.bug("rescale_l_only");
  const bool bug_zero = s.bug("zero_for_neg_inf_max");

  std::vector<float> acc(static_cast<std::size_t>(d)), part(static_cast<std::size_t>(d));
  for (std::int64_t t = 0; t < rows; ++t) {
    float m = none, l = 0;
    std::fill(acc.begin(), acc.end(), 0.0f);
    for (std::int64_t first = 0; first < n; first += step) {
      const std::int64_t last = std::min(n, first + step);
      float top = m;
      for (std::int64_t j = first; j < last; ++j) {
        const float score = x(t, j);
        if (score > top || std::isnan(score)) top = score;
        if (std::isnan(top)) break;
      }
      const float before = m;
      if (!(top - m <= tau)) m = top;
      if (m == none && bug_zero) m = 0;
      if (m == none) continue;  // nothing yet
      const float a = before == none ? 0.0f : std::exp((bug_factor ? m : before) - m);
      std::fill(part.begin(), part.end(), 0.0f);
      float sum = 0;
      for (std::int64_t j = last; j-- > first;) {
        const float e = std::exp(x(t, j) - m);
        sum += e;
        for (std::int64_t c = 0; c < d; ++c) part[static_cast<std::size_t>(c)] += e * v(j, c);
      }
      l = l * a + sum;
      for (std::size_t c = 0; c < acc.size(); ++c) acc[c] = acc[c] * (bug_o ? 1.0f : a) + part[c];
    }
    const bool empty = m == none || (bug_zero && l == 0);
    if (lse.wanted()) lse.set(t, empty ? none : m + std::log(l));
    const float scale = empty ? 0.0f : 1.0f / l;
    for (std::int64_t c = 0; c < d && o.wanted(); ++c)
      o.set(t, c, empty ? 0.0f : acc[static_cast<std::size_t>(c)] * scale);
  }
}

}  // namespace assay
