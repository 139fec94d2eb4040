#include <algorithm>
#include <cmath>
#include <vector>

#include "conformance/engine/subject.hpp"

// All ranks one after another in one process, as a one-shot kernel over peer memory would do it: each rank gathers what
// it needs from the others' buffers. Receive buffers are filled first, then written to the outputs.
namespace assay {
namespace {

using Size = std::int64_t;
using Floats = std::vector<float>;

std::size_t at(Size i) { return static_cast<std::size_t>(i); }

/// The sum of floats without an error, as digits of 32 bits from 2^-149 up, rounded once.
class FixedPoint {
 public:
  void add(float x) {
    special_ += std::isfinite(x) ? 0 : x;
    all_negative_zero_ = all_negative_zero_ && x == 0 && std::signbit(x);
    int e = 0;
    const float m = std::frexp(x, &e);  // x = m 2^e
    if (!std::isfinite(x) || x == 0) return;
    const auto digits = static_cast<std::int64_t>(std::ldexp(m, 24));
    const int from = e - 24 + 149 < 0 ? 0 : e - 24 + 149;
    const std::int64_t whole = e - 24 + 149 < 0 ? digits >> -(e - 24 + 149) : digits;  // exact: low bits are 0
    const std::int64_t magnitude = (whole < 0 ? -whole : whole) << from % 32, sign = whole < 0 ? -1 : 1;
    digit_[from / 32] += sign * (magnitude & 0xFFFFFFFF);
    digit_[from / 32 + 1] += sign * (magnitude >> 32);
  }
  /// To nearest even, or to odd for a rounding that follows.
  float rounded(bool to_odd) {
    if (special_ != 0) return special_;
    std::int64_t carry = 0;
    for (std::int64_t& d : digit_) {
      const std::int64_t t = d + carry;
      d = t & 0xFFFFFFFF;
      carry = (t - d) / (std::int64_t{1} << 32);
    }
    if (carry < 0) {  // two's complement of the digits
      std::int64_t one = 1;
      for (std::int64_t& d : digit_) {
        const std::int64_t t = (~d & 0xFFFFFFFF) + one;
        d = t & 0xFFFFFFFF;
        one = t >> 32;
      }
    }
    int top = count - 1;
    while (top > 0 && digit_[top] == 0) --top;
    if (top == 0 && digit_[0] == 0) return all_negative_zero_ ? -0.0f : 0.0f;
    const int low = top > 0 ? top - 1 : 0;
    auto bits = static_cast<std::uint64_t>(digit_[top]);
    if (top > 0) bits = bits << 32 | static_cast<std::uint64_t>(digit_[low]);
    for (int i = 0; i < low; ++i) bits |= digit_[i] != 0;
    if (to_odd) {
      int drop = 0;
      while (bits >> drop >> 24 != 0) ++drop;
      const std::uint64_t kept = bits >> drop;
      bits = (kept | (kept << drop != bits ? 1 : 0)) << drop;
    }
    return std::ldexp(static_cast<float>(bits), 32 * low - 149) * (carry < 0 ? -1.0f : 1.0f);
  }

 private:
  static constexpr int count = 12;
  std::int64_t digit_[count] = {};
  float special_ = 0;
  bool all_negative_zero_ = true;
};

struct Ranks {
  Subject& s;
  const In x = s.in("x"), before = s.in("before");
  const Out y = s.out("y");
  const Size n = x.size(0), S = x.size(1);
  const bool in_place = s.option("memory", "in_place");
  const bool element = s.option("node", "element") && !s.option("order", "library") && !s.bug("wire_type_ignored");
  const Size c = n > 0 ? S / n : 0, root = n > 0 ? static_cast<Size>(s.number("root")) % n : 0;
  std::vector<Floats> read = {}, held = {};  // [n][S]: what is read, what is written
  bool turned = false;                       // nvls_history

  void check() const {
    if (n < 1) s.refuse("x must have a row for each rank");
    if (s.number("root") < 0 || s.number("pieces") < 1) s.refuse("root must be at least 0, pieces at least 1");
    if (!in_place && (before.size(0) != n || before.size(1) != S)) s.refuse("before must be [n, S] as x");
  }
  void load() {
    read.assign(at(n), Floats(at(S)));
    for (Size r = 0; r < n; ++r)
      for (Size i = 0; i < S; ++i) read[at(r)][at(i)] = x(r, i);
    held = read;
    for (Size r = 0; r < n && !in_place; ++r)
      for (Size i = 0; i < S; ++i) held[at(r)][at(i)] = before(r, i);
  }
  void store() const {
    for (Size r = 0; r < n; ++r)
      for (Size i = 0; i < S; ++i) y.set(r, i, held[at(r)][at(i)]);
  }

  float both(float a, float b) const {
    float z = s.option("reduction", "prod") ? a * b : a + b;
    if (s.option("reduction", "max")) z = std::isnan(a) || a > b ? a : b;
    if (s.option("reduction", "min")) z = std::isnan(a) || a < b ? a : b;
    return element ? y.rounded(z) : z;
  }

  /// Partners at distance d, both of them with the sum: what rank `r` of p holds in the end.
  float butterfly(Floats v, bool doubling) const {
    Size p = 1;
    while (2 * p <= n) p *= 2;
    Floats w;
    for (Size r = 0; r < n - p; ++r) w.push_back(both(v[at(2 * r)], v[at(2 * r + 1)]));
    for (Size r = 2 * (n - p); r < n; ++r) w.push_back(v[at(r)]);
    for (Size k = 1; k < p; k *= 2) {
      const Size d = doubling ? k : p / 2 / k;
      Floats next;
      for (Size r = 0; r < p; ++r) next.push_back(both(w[at(r & ~d)], w[at(r | d)]));
      w = next;
    }
    return w[0];
  }

  /// The contributions v[r] to an element of chunk j.
  float reduce(const Floats& v, Size j) const {
    const bool adds = s.option("reduction", "sum") || s.option("reduction", "avg");
    float z = 0;
    const bool fold = s.option("order", "fold");
    if (s.option("order", "ring")) {
      Size r = (j + 1) % n;
      for (z = v[at(r)]; r != j % n;) z = both(z, v[at(r = (r + 1) % n)]);
    } else if (s.option("order", "tree")) {
      Floats w = v;
      for (Size d = 1; d < n; d *= 2)
        for (Size r = 0; r + d < n; r += 2 * d) w[at(r)] = both(w[at(r)], w[at(r + d)]);
      z = w[0];
    } else if (s.option("order", "doubling") || s.option("order", "halving") || (fold && s.bug("mpi_rank_order"))) {
      z = butterfly(v, !s.option("order", "halving"));
    } else if (s.option("order", "exact") && adds) {
      FixedPoint sum;
      for (const float one : v) sum.add(one);
      z = sum.rounded(element && y.epsilon() > 0x1p-23f);
      if (element) z = y.rounded(z);
    } else if (turned) {  // from the last rank to the first
      z = v[at(n - 1)];
      for (Size r = n - 1; r-- > 0;) z = both(z, v[at(r)]);
    } else {  // fold, and `library`, which may be anything
      z = v[0];
      for (Size r = 1; r < n; ++r) z = both(z, v[at(r)]);
    }
    if (!s.option("reduction", "avg")) return z;
    z /= static_cast<float>(n);
    return element ? y.rounded(z) : z;
  }
  Floats contributions(Size i) const {
    Floats v;
    for (Size r = 0; r < n; ++r) v.push_back(read[at(r)][at(i)]);
    return v;
  }

  /// The chunk an element of a reduction of all S belongs to.
  Size chunk(Size i) const {
    Size pieces = static_cast<Size>(s.number("pieces"));
    if (s.bug("channel_count") && pieces == 1 && S > n) pieces = 2;
    if (s.bug("fused_buffer")) pieces = 1;
    const Size piece = (S + pieces - 1) / pieces, first = i / piece * piece, length = std::min(piece, S - first);
    return (i - first) / ((length + n - 1) / n);
  }

  void reduce_all(bool everywhere) {
    const Size end = s.bug("vector_tail") ? S / 4 * 4 : S;
    for (Size r = 0; r < n; ++r) {
      if (!everywhere && r != root) continue;
      for (Size i = 0; i < end; ++i) held[at(r)][at(i)] = reduce(contributions(i), chunk(i));
      if (in_place && s.bug("exit_barrier_missing")) read[at(r)] = held[at(r)];
    }
  }

  /// Where a block begins.
  Size block(Size j, Size count) const {
    if (s.bug("bytes_for_elements")) return j * count / 4;
    return s.bug("count_overflow") ? (j * count) & 0x7F : j * count;
  }
  Size own(Size r) const { return in_place ? r * c : 0; }
  void copy(Size to, Size place, Size from, Size first, Size count) {
    for (Size i = 0; i < count; ++i) held[at(to)][at(place + i)] = read[at(from)][at(first + i)];
  }

  void reduce_scatter() {
    const Size count = s.bug("reduce_scatter_count") ? c / n : c;
    for (Size r = 0; r < n; ++r) {
      const Size mine = s.bug("equal_data_on_ranks") ? (r + 1) % n : r;
      for (Size i = 0; i < count; ++i)
        held[at(r)][at(own(r) + i)] = reduce(contributions(block(mine, count) + i), mine);
    }
  }

  void all_gather() {
    for (Size r = 0; r < n; ++r) {
      for (Size q = 0; q < n; ++q) copy(r, block(q, c), q, own(q), c);
      if (!in_place || !s.bug("own_block_last")) continue;
      for (Size i = 0; i < c; ++i) held[at(r)][at(own(r) + i)] = held[at(r)][at(i)];  // taken from the buffer's begin
    }
  }

  void all_to_all() {
    for (Size r = 0; r < n; ++r)
      for (Size q = 0; q < n; ++q)
        if (q != r || !s.bug("self_block_missing")) copy(r, block(q, c), q, block(r, c), c);
  }

  void all_to_all_v() {
    const In counts = s.indices("counts");
    if (counts.size(0) != n * n) s.refuse("counts must be [n n]");
    std::vector<Size> arrived(at(n), 0);
    for (Size q = 0; q < n; ++q) {
      Size sent = 0;
      for (Size r = 0; r < n; ++r) {
        const Size count = counts.index(q * n + r);
        if (count < 0 || count > c) s.refuse("counts must be from 0 to S / n");
        copy(r, arrived[at(r)], q, sent, count);
        arrived[at(r)] += count;
        sent += count;
      }
    }
  }
};

}  // namespace

SUBJECT(collective) {
  Ranks ranks{s};
  ranks.check();
  ranks.load();
  static int calls = 0;
  ranks.turned = s.bug("nvls_history") && ++calls % 2 == 0;
  const Size n = ranks.n, S = ranks.S, c = ranks.c, root = ranks.root;
  if (s.option("call", "all_reduce")) ranks.reduce_all(true);
  if (s.option("call", "reduce")) ranks.reduce_all(false);
  if (s.option("call", "reduce_scatter")) ranks.reduce_scatter();
  if (s.option("call", "all_gather")) ranks.all_gather();
  if (s.option("call", "all_to_all")) ranks.all_to_all();
  if (s.option("call", "all_to_all_v")) ranks.all_to_all_v();
  for (Size r = 0; r < n; ++r) {
    if (s.option("call", "broadcast")) ranks.copy(r, 0, root, 0, S);
    if (s.option("call", "send_recv")) ranks.copy((r + root) % n, 0, r, 0, S);
    if (s.option("call", "scatter")) ranks.copy(r, ranks.own(r), root, ranks.block(r, c), c);
    if (s.option("call", "gather")) ranks.copy(root, ranks.block(r, c), r, ranks.own(r), c);
  }
  ranks.store();
  const Out entered = s.out("entered");
  for (Size r = 0; r < n && entered.wanted(); ++r) entered.set(r, static_cast<float>(n));
}

}  // namespace assay
