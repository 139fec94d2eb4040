#pragma once
#include <bit>
#include <functional>
#include <vector>

#include "distributed/communicator/order.hpp"

namespace assay::testing {

/// What a reduction in that order gives, by acting out the algorithm it is named after: each rank has a value, and the
/// ranks exchange values step by step. `op` combines and rounds.
template <class T>
T acted_out(CombineOrder order, std::vector<T> x, int chunk, const std::function<T(T, T)>& op) {
  const std::size_t n = x.size();
  switch (order) {
    case CombineOrder::ascending:
      for (std::size_t r = 1; r < n; ++r) x[0] = op(x[0], x[r]);
      return x[0];
    case CombineOrder::ring: {
      // The chunk starts at the right neighbour of the rank that will own it and is passed on n - 1 times.
      std::size_t holder = (static_cast<std::size_t>(chunk) + 1) % n;
      T partial = x[holder];
      while (holder != static_cast<std::size_t>(chunk) % n) {
        holder = (holder + 1) % n;
        partial = op(partial, x[holder]);
      }
      return partial;
    }
    case CombineOrder::balanced_tree: {
      // Left part: as many leaves as the largest power of two below n.
      if (n == 1) return x[0];
      const std::size_t left = std::bit_floor(n - 1);
      const std::vector<T> a(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(left));
      const std::vector<T> b(x.begin() + static_cast<std::ptrdiff_t>(left), x.end());
      return op(acted_out(order, a, 0, op), acted_out(order, b, 0, op));
    }
    case CombineOrder::doubling:
    case CombineOrder::halving: {
      const std::size_t p = std::bit_floor(n), extra = n - p;
      std::vector<T> y;  // of the p ranks that take part
      for (std::size_t i = 0; i < extra; ++i) y.push_back(op(x[2 * i], x[2 * i + 1]));
      y.insert(y.end(), x.begin() + static_cast<std::ptrdiff_t>(2 * extra), x.end());
      for (std::size_t k = 1; k < p; k *= 2) {
        const std::size_t distance = order == CombineOrder::doubling ? k : p / 2 / k;
        std::vector<T> next(p);
        for (std::size_t r = 0; r < p; ++r) next[r] = op(y[r], y[r ^ distance]);
        y = next;
      }
      return y[chunk % p];  // the same on all of them
    }
  }
  return x[0];
}

}  // namespace assay::testing
