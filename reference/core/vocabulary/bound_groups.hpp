#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "reference/core/readings/bound_model.hpp"
#include "reference/core/tensor.hpp"

namespace assay::detail {

/// Numbers equal values consecutively: an open hash table, reused from call to call.
class Groups {
 public:
  void start(Index n) {
    std::size_t size = 16;
    while (size < 2 * static_cast<std::size_t>(n)) size *= 2;
    if (slots_.size() < size) slots_.assign(size, {});
    mask_ = size - 1;
    ++epoch_;
    count_ = 0;
  }
  /// The group of v: 0, 1, ... in order of first appearance. +0 and -0 are one.
  Index of(double v) {
    const std::uint64_t key = std::bit_cast<std::uint64_t>(v == 0 ? 0.0 : v);
    for (std::size_t i = (key * 0x9E3779B97F4A7C15ull) >> 20 & mask_;; i = (i + 1) & mask_) {
      Slot& s = slots_[i];
      if (s.epoch != epoch_) {
        s = {key, epoch_, count_};
        return count_++;
      }
      if (s.key == key) return s.group;
    }
  }
  Index count() const { return count_; }

 private:
  struct Slot {
    std::uint64_t key = 0, epoch = 0;
    Index group = 0;
  };
  std::vector<Slot> slots_;
  std::size_t mask_ = 0;
  std::uint64_t epoch_ = 0;
  Index count_ = 0;
};

/// Variance of a sum of errors in which equal values carry equal errors: sum over groups of (sum of signed standard
/// deviations)^2. Where they cancel within a group the independent sum is taken: blocks may have rounded them
/// separately.
class GroupedVariance {
 public:
  void start(Index n) {
    groups_.start(n);
    sums_.clear();
  }
  void add(double value, double deviation) {
    const auto g = static_cast<std::size_t>(groups_.of(value));
    if (g == sums_.size()) sums_.push_back({});
    sums_[g].signed_sum += deviation;
    sums_[g].squares += deviation * deviation;
  }
  double variance() const {
    double v = 0;
    for (const Sum& s : sums_) v += std::max(square(s.signed_sum), s.squares);
    return v;
  }

 private:
  struct Sum {
    double signed_sum = 0, squares = 0;
  };
  Groups groups_;
  std::vector<Sum> sums_;
};

/// Collects signed coefficients of shared symbols; the largest survives in a result, the others become independent.
class SymbolSums {
 public:
  void clear() { sums_.clear(); }
  void add(double c, std::uint32_t symbol) {
    if (c == 0 || symbol == 0) return;
    if (!sums_.empty() && sums_.back().symbol == symbol)
      sums_.back().c += c;
    else
      sums_.push_back({symbol, c});
  }
  void move_to(Bound& r) {
    std::sort(sums_.begin(), sums_.end(), [](const Entry& a, const Entry& b) { return a.symbol < b.symbol; });
    for (std::size_t i = 0; i < sums_.size();) {
      double c = 0;
      std::size_t j = i;
      for (; j < sums_.size() && sums_[j].symbol == sums_[i].symbol; ++j) c += sums_[j].c;
      add_symbol(r, c, sums_[i].symbol);
      i = j;
    }
    sums_.clear();
  }

 private:
  struct Entry {
    std::uint32_t symbol;
    double c;
  };
  std::vector<Entry> sums_;
};

}  // namespace assay::detail
