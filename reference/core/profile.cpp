#include "reference/core/profile.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "reference/core/math.hpp"
#include "reference/core/parallel.hpp"
#include "reference/core/philox.hpp"

namespace assay {
namespace {

struct Entry {
  Profile profile;
  std::string_view name;
};
#define ASSAY_PROFILE(p) \
  Entry { Profile::p, #p }
constexpr std::array kProfiles = {
    ASSAY_PROFILE(normal),        ASSAY_PROFILE(uniform),     ASSAY_PROFILE(small_integers),
    ASSAY_PROFILE(powers_of_two), ASSAY_PROFILE(huge_logits), ASSAY_PROFILE(heavy_tails),
    ASSAY_PROFILE(ties),          ASSAY_PROFILE(constant),    ASSAY_PROFILE(positive),
    ASSAY_PROFILE(few_distinct),  ASSAY_PROFILE(nan_tail),    ASSAY_PROFILE(neg_inf),
    ASSAY_PROFILE(ascending),     ASSAY_PROFILE(descending),  ASSAY_PROFILE(cancelling),
    ASSAY_PROFILE(equal_rows),    ASSAY_PROFILE(tiny),        ASSAY_PROFILE(signed_zeros),
    ASSAY_PROFILE(specials)};
#undef ASSAY_PROFILE

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kTwoPi = 6.283185307179586;

/// A whole number in 0..n-1; its bias is below n / 2^32.
int below(std::uint32_t word, int n) {
  return static_cast<int>(std::uint64_t{word} * static_cast<std::uint64_t>(n) >> 32);
}

/// Box and Muller: sqrt(-2 ln u) cos(2 pi v), with u in (0, 1].
double normal(const PhiloxCounter& w) {
  return math::sqrt(-2.0 * math::log(1.0 - unit(w[0], w[1]))) * math::cos(kTwoPi * unit(w[2], w[3]));
}

/// One row of a tensor: the matrix's key, the row's number, and what does not change along it.
struct Row {
  PhiloxKey key;
  std::uint32_t tensor, row;
  Index cols;
  double smallest, largest;  // of the format: normal number, finite number
  double constant;

  PhiloxCounter words(Index column, std::uint32_t draw = 0) const {
    return PhiloxElement(key, tensor, row, static_cast<std::uint32_t>(column)).words(draw);
  }
};

double tie(const PhiloxCounter& w) {
  constexpr int kBits[] = {2, 3, 4, 8, 11};
  const int p = kBits[below(w[0], 5)], half = 1 << (p - 1);
  const double midpoint = (half + below(w[1], half) + 0.5) / half;
  return std::ldexp(w[2] & 1 ? -midpoint : midpoint, below(w[3], 5) - 2);
}

double special(const Row& r, const PhiloxCounter& w) {
  const double values[] = {kInf, -kInf, kNan, 0.0, -0.0, r.largest, -r.largest};
  return values[below(w[1], 7)];
}

double value(Profile p, const Row& r, Index j) {
  const PhiloxCounter w = r.words(j);
  const double u = unit(w[0], w[1]);
  switch (p) {
    case Profile::normal:
      return normal(w);
    case Profile::uniform:
      return 2.0 * u - 1.0;
    case Profile::small_integers:
      return below(w[0], 17) - 8;
    case Profile::powers_of_two:
      return std::ldexp(w[1] & 1 ? -1.0 : 1.0, below(w[0], 17) - 8);
    case Profile::huge_logits:
      return 1e4 * (2.0 * u - 1.0);
    case Profile::heavy_tails:
      return std::ldexp(normal(w), std::min(24, std::countr_one(r.words(j, 1)[0])));
    case Profile::ties:
      return tie(w);
    case Profile::constant:
      return r.constant;
    case Profile::positive:
      return 0.125 + 1.875 * u;
    case Profile::few_distinct:
      return std::array{-1.0, 0.5, 1.0, 2.0}[w[0] >> 30];
    case Profile::nan_tail:
      return j >= r.cols - r.cols / 4 ? kNan : normal(w);
    case Profile::neg_inf:
      return r.words(0, 2)[0] >> 30 == 0 || r.words(j, 1)[0] >> 30 == 0 ? -kInf : normal(w);
    case Profile::ascending:
      return (static_cast<double>(j) + u) / 8.0;
    case Profile::descending:
      return -(static_cast<double>(j) + u) / 8.0;
    case Profile::cancelling:
      return j % 2 == 0 ? normal(w) : -normal(r.words(j - 1)) * (1.0 + 0x1p-4 * u);
    case Profile::equal_rows:
      return normal(w);
    case Profile::tiny:
      return normal(w) * 4.0 * r.smallest;
    case Profile::signed_zeros: {
      const int kind = below(r.words(j, 1)[0], 3);
      return kind == 0 ? 0.0 : kind == 1 ? -0.0 : normal(w);
    }
    case Profile::specials: {
      const PhiloxCounter kind = r.words(j, 1);
      return kind[0] >> 29 == 0 ? special(r, kind) : normal(w);
    }
  }
  throw Error("value profile", "one of the enumerators", std::to_string(static_cast<int>(p)));
}

}  // namespace

std::span<const Profile> all_profiles() {
  static const std::array<Profile, kProfiles.size()> all = [] {
    std::array<Profile, kProfiles.size()> a{};
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = kProfiles[i].profile;
    return a;
  }();
  return all;
}

std::string_view name(Profile p) {
  for (const Entry& e : kProfiles)
    if (e.profile == p) return e.name;
  throw Error("value profile", "one of the enumerators", std::to_string(static_cast<int>(p)));
}

Profile profile(std::string_view name) {
  std::string known;
  for (const Entry& e : kProfiles) {
    if (e.name == name) return e.profile;
    known += (known.empty() ? "" : ", ") + std::string(e.name);
  }
  throw Error("value profile", "one of " + known, "'" + std::string(name) + "'");
}

Tensor<double> fill(Profile p, const Shape& shape, std::uint64_t seed, std::uint32_t tensor, const Format* f) {
  Tensor<double> out(shape);
  const std::size_t rank = shape.size();
  const Index cols = rank > 0 ? shape[rank - 1] : 1, matrix_rows = rank > 1 ? shape[rank - 2] : 1;
  const Index rows = cols == 0 ? 0 : out.size() / cols;
  const Format& limits = f ? *f : formats::fp32;
  const double constant = normal(PhiloxElement(philox_key(seed), tensor, 0, 0).words(1));
  const Shape batch(shape.begin(), shape.end() - static_cast<Index>(std::min<std::size_t>(rank, 2)));
  const auto fill_row = [&](Index row) {
    Shape leading(batch.size());
    for (Index d = static_cast<Index>(batch.size()) - 1, rest = row / matrix_rows; d >= 0; --d) {
      const auto axis = static_cast<std::size_t>(d);
      leading[axis] = rest % batch[axis];
      rest /= batch[axis];
    }
    const bool same = p == Profile::equal_rows;
    const Row r{same ? philox_key(seed) : batch_key(seed, tensor, leading),
                tensor,
                same ? 0 : static_cast<std::uint32_t>(row % matrix_rows),
                cols,
                limits.min_normal(),
                limits.max_finite(),
                constant};
    for (Index j = 0; j < cols; ++j) {
      const double x = value(p, r, j);
      out.data()[row * cols + j] = f ? round_to(*f, x) : x;
    }
  };
  parallel_for(rows, std::max<Index>(1, 4096 / std::max<Index>(cols, 1)), [&](Index first, Index last) {
    for (Index row = first; row < last; ++row) fill_row(row);
  });
  return out;
}

}  // namespace assay
