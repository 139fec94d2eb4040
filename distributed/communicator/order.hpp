#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

/// In which order the contributions x_0 .. x_{n-1} of n ranks are combined: a binary tree over the ranks. Rounding
/// makes the order part of the result; it does not depend on the back end or on timing (page
/// collective.reduction_order).
enum class CombineOrder : std::uint8_t {
  ascending,      ///< ((x_0 + x_1) + x_2) + ...: the left fold over ascending ranks
  ring,           ///< chunk c: ((x_{c+1} + x_{c+2}) + ...) + x_c, ranks mod n: where a ring reduce-scatter ends chunk c
  balanced_tree,  ///< neighbours first, then pairs of pairs: (x_0 + x_1) + (x_2 + x_3) ...; the binomial tree to rank 0
  doubling,       ///< recursive doubling: partners at distance 1, 2, 4, ..
  halving         ///< recursive halving: partners at distance .., 4, 2, 1
};
// With n no power of two, doubling and halving first combine the pairs (0,1), (2,3), .. of the first 2 (n - p) ranks,
// p the largest power of two below n, and go on with the p partial results.

/// All orders, for whoever goes through them; their names are those of the enumerators.
std::span<const CombineOrder> all_orders();
std::string_view name(CombineOrder order);

/// One inner node of the tree: x[into] = x[into] op x[from].
struct Merge {
  int into, from;
};

/// The n - 1 inner nodes in an order in which they can be carried out; the last one's `into` is where the result is
/// (n = 1: no node, the result is x[0]). `chunk` matters for `ring` only.
std::vector<Merge> merges(CombineOrder order, int n, int chunk);

/// The longest path from a contribution to the result: how often it is rounded.
int depth(std::span<const Merge> nodes, int n);

}  // namespace assay
