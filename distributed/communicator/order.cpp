#include "distributed/communicator/order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "reference/core/error.hpp"

namespace assay {
namespace {

constexpr std::array orders{CombineOrder::ascending, CombineOrder::ring, CombineOrder::balanced_tree,
                            CombineOrder::doubling, CombineOrder::halving};
constexpr std::array<std::string_view, 5> names{"ascending", "ring", "balanced_tree", "doubling", "halving"};

/// Partners at distance 1, 2, 4, .. (doubling) or .., 4, 2, 1 (halving) among p = 2^k partial results.
std::vector<Merge> recursive(int n, bool doubling) {
  std::vector<Merge> nodes;
  const int p = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  const int extra = n - p;
  std::vector<int> slot;  // [p], where each partial result is
  for (int i = 0; i < extra; ++i) {
    nodes.push_back({2 * i, 2 * i + 1});
    slot.push_back(2 * i);
  }
  for (int r = 2 * extra; r < n; ++r) slot.push_back(r);
  const auto node = [&](int into, int from) {
    nodes.push_back({slot[static_cast<std::size_t>(into)], slot[static_cast<std::size_t>(from)]});
  };
  if (doubling)
    for (int d = 1; d < p; d *= 2)
      for (int i = 0; i < p; i += 2 * d) node(i, i + d);
  else
    for (int d = p / 2; d > 0; d /= 2)
      for (int i = 0; i < d; ++i) node(i, i + d);
  return nodes;
}

}  // namespace

std::span<const CombineOrder> all_orders() { return orders; }

std::string_view name(CombineOrder order) { return names[static_cast<std::size_t>(order)]; }

std::vector<Merge> merges(CombineOrder order, int n, int chunk) {
  if (n < 1) throw Error("order of a reduction", "at least one rank", std::to_string(n));
  std::vector<Merge> nodes;
  switch (order) {
    case CombineOrder::ascending:
      for (int r = 1; r < n; ++r) nodes.push_back({0, r});
      break;
    case CombineOrder::ring: {
      const int first = (chunk + 1) % n;
      for (int k = 1; k < n; ++k) nodes.push_back({first, (first + k) % n});
      break;
    }
    case CombineOrder::balanced_tree:
      for (int d = 1; d < n; d *= 2)
        for (int r = 0; r + d < n; r += 2 * d) nodes.push_back({r, r + d});
      break;
    case CombineOrder::doubling:
    case CombineOrder::halving:
      return recursive(n, order == CombineOrder::doubling);
  }
  return nodes;
}

int depth(std::span<const Merge> nodes, int n) {
  std::vector<int> below(static_cast<std::size_t>(n), 0);
  for (const Merge& m : nodes) {
    int& into = below[static_cast<std::size_t>(m.into)];
    into = 1 + std::max(into, below[static_cast<std::size_t>(m.from)]);
  }
  return nodes.empty() ? 0 : below[static_cast<std::size_t>(nodes.back().into)];
}

}  // namespace assay
