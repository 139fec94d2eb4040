#include <algorithm>
#include <cmath>

#include "conformance/collective/shared.hpp"

// Claims of spec/collective/reduction_order.md.
namespace assay {
namespace {

/// A sum over at least two ranks, by all_reduce.
Check& some_sum(Check& check) { return some_elements(check).with("call", "all_reduce").with("reduction", "sum"); }

/// The same in one of the orders that are trees; no back end's own.
Check& in_a_tree(Check& check) {
  const char* const orders[] = {"fold", "ring", "tree", "doubling", "halving"};
  return some_sum(check).with("order", orders[check.pick("order", 0, 4)]);
}

/// x with rows a and b exchanged.
Tensor<double> exchanged(const Tensor<double>& x, Index a, Index b) {
  const Tensor<double> y = x.clone();
  for (Index i = 0; i < x.shape()[1]; ++i) {
    y.data()[a * x.shape()[1] + i] = element(x, b, i);
    y.data()[b * x.shape()[1] + i] = element(x, a, i);
  }
  return y;
}

/// The exact sum over ranks, to 106 bits.
Matrix<Wide> exact_sum(Check& check, Call call) {
  call.set_option("order", static_cast<double>(CollectiveOptions::Order::exact));
  return check.define<Wide>(call)["y"].matrix();
}

/// The call on fewer or more ranks.
Call on_ranks(const Call& call, const Tensor<double>& x) {
  Call other = reading(call, x);
  other.set("before", Tensor<double>(x.shape(), 0.0));
  return other;
}

}  // namespace

CLAIM(collective.reduction_order.named_order) {
  const std::string op = check.c.name_of("reduction"), order = check.c.name_of("order");
  if (op == "max" || op == "min") check.with("reduction", "sum");           // in any order
  if (order == "exact" || order == "library") check.with("order", "ring");  // none that a name says
  const char* const calls[] = {"all_reduce", "reduce", "reduce_scatter"};
  const Call call = no_overflow(check).with("call", calls[check.pick("call", 0, 2)]).call();
  check.same_bits("y, and the order that the call names", check.run(call)["y"], emulated(check, call));
}

CLAIM(collective.reduction_order.all_ranks_same) {
  const Call call = some_sum(check).call();
  const Tensor<double> y = check.run(call)["y"];
  for (Index r = 1; r < call.size("n"); ++r)
    for (Index i = 0; i < call.size("S"); ++i)
      check.same_bits("an element on ranks 0 and " + std::to_string(r), element(y, r, i), element(y, 0, i));
}

CLAIM(collective.reduction_order.commuted_children) {
  in_a_tree(check).with("pieces", "1");
  using By = CollectiveOptions::Order;
  const auto order = CollectiveOptions::from(check.call().options).order;
  const bool butterfly = order == By::doubling || order == By::halving || order == By::tree;
  if (butterfly) check.with("n", check.pick("n", 0, 1) ? 8 : 4);  // every node has two complete subtrees
  const Call call = check.call();
  const Index n = call.size("n"), S = call.size("S"), chunk = (S + n - 1) / n;
  Tensor<double> x = call["x"];
  Index end = S;  // the elements of which the exchange swaps two children
  if (order == By::fold) x = exchanged(x, 0, 1);
  if (order == By::ring) {  // of chunk 0
    x = exchanged(x, 1, 2 % n);
    end = chunk;
  }
  if (butterfly) {
    // One node at one level: tree and doubling combine ranks that agree above bit k, halving those that agree below it.
    Index levels = 0;
    while (Index{2} << levels <= n) ++levels;
    const Index k = check.pick("level", 0, levels - 1), one = check.pick("node", 0, n - 1);
    const Index same = order == By::halving ? (Index{1} << k) - 1 : ~((Index{2} << k) - 1) & (n - 1);
    for (Index r = 0; r < n; ++r)
      if ((r & same) == (one & same) && (r >> k & 1) == 0) x = exchanged(x, r, r | Index{1} << k);
  }
  const Tensor<double> y = check.run(call)["y"], swapped = check.run(reading(call, x))["y"];
  for (Index i = 0; i < end; ++i)
    check.same_bits("an element, with the children of a node swapped", element(swapped, 0, i), element(y, 0, i));
}

CLAIM(collective.reduction_order.depth_bound) {
  some_sum(check);
  if (check.c.name_of("order") == "library") check.with("order", "tree");
  const Call call = check.call();
  const auto order = CollectiveOptions::from(call.options).order;
  const Index n = call.size("n"), depth = reduction_depth(order, n);
  const Tensor<double> y = check.run(call)["y"];
  const Matrix<Wide> sum = exact_sum(check, call);
  for (Index i = 0; i < call.size("S"); ++i) {
    const Wide off = Wide(element(y, 0, i)) - sum(0, i);
    // One rounding of the exact sum is relative to the sum itself, not to its terms.
    const double limit = order == CollectiveOptions::Order::exact
                             ? u_node(call) * std::fabs(sum(0, i).hi) * (1 + 0x1p-40)
                             : depth_bound(call, i, depth);
    check.at_most("|y - sum x|", std::fabs(off.hi + off.lo), limit + last_rounding(call, element(y, 0, i)));
  }
}

CLAIM(collective.reduction_order.exact_rounding) {
  const Format& f = *check.contract().out;
  if (f.bits == 64) throw NotOffered{"elements of which the exact sum has more bits than 106 can tell apart"};
  const Call call = some_sum(check).with("order", "exact").with("node", "element").call();
  const Tensor<double> x = call["x"], y = check.run(call)["y"];
  const Matrix<Wide> sum = exact_sum(check, call);
  const Index n = call.size("n");
  for (Index i = 0; i < call.size("S"); ++i) {
    const double got = element(y, 0, i);
    if (f.fixed_point()) {
      check.require(sum(0, i).hi == got || std::fabs(sum(0, i).hi) > f.max_finite(), "the sum of integers", got);
      continue;
    }
    if (sum(0, i).hi == 0) {
      bool all_negative = true;
      for (Index r = 0; r < n; ++r) all_negative = all_negative && std::signbit(element(x, r, i));
      check.same_bits("a sum of 0", got, all_negative && element(x, 0, i) == 0 ? -0.0 : 0.0);
      continue;
    }
    // The exact sum lies among the reals that round to y.
    const Interval reals = preimage(f, got);
    const Wide above = sum(0, i) - Wide(reals.lo), below = Wide(reals.hi) - sum(0, i);
    const double a = above.hi + above.lo, b = below.hi + below.lo;
    check.require((a > 0 || (a == 0 && reals.lo_closed)) && (b > 0 || (b == 0 && reals.hi_closed)),
                  "y is the number nearest to the exact sum", got);
  }
  if (f.fixed_point()) return;
  // The average divides this number, and rounds once more.
  const Tensor<double> average = check.run(check.with("reduction", "avg").call())["y"];
  for (Index i = 0; i < call.size("S"); ++i)
    check.same_bits("the average", element(average, 0, i), round_to(f, element(y, 0, i) / static_cast<double>(n)));
}

CLAIM(collective.reduction_order.fold_bound) {
  const Call call = some_sum(check).call(), fold = check.with("order", "fold").call();
  const Tensor<double> y = check.run(call)["y"], z = check.run(fold)["y"];
  for (Index i = 0; i < call.size("S"); ++i) {
    const double a = element(y, 0, i), b = element(z, 0, i);
    check.at_most("|any order - fold|", std::fabs(a - b),
                  2 * depth_bound(call, i, call.size("n") - 1) + last_rounding(call, a) + last_rounding(call, b));
  }
}

CLAIM(collective.reduction_order.moves_exact) {
  some_elements(check);
  // Which element of x is where, after each move: numbers moved by the definition.
  const Call first = some_movement(check).call();
  Tensor<double> values = first["x"], places(values.shape());
  for (Index i = 0; i < places.size(); ++i) places.data()[i] = static_cast<double>(i);
  const char* const moves[] = {"broadcast", "scatter", "gather", "all_gather", "all_to_all", "send_recv"};
  for (Index step = 0; step < 3; ++step) {
    const std::string name = "move " + std::to_string(step);
    Call call = check.with("call", moves[check.pick(name, 0, 5)]).call();
    call.set_option("root", static_cast<double>(check.pick("root of " + name, 0, call.size("n") - 1)));
    Call of_places = call;
    call.set("x", values);
    call.set("before", values);
    of_places.set("x", places);
    of_places.set("before", places);
    values = check.run(call)["y"];
    places = check.define<double>(of_places)["y"];
  }
  for (Index i = 0; i < values.size(); ++i)
    check.same_bits("an element after three moves", values.at_flat(i),
                    first["x"].at_flat(static_cast<Index>(places.at_flat(i))));
}

CLAIM(collective.reduction_order.repeatable) {
  const Call call = some_sum(check).call();
  if (CollectiveOptions::from(call.options).order == CollectiveOptions::Order::library)
    check.with("order", "fold");  // a library need not promise it
  const Call again = check.call();
  const Tensor<double> y = check.run(again)["y"];
  for (std::uint32_t k = 0; k < 3; ++k) {
    Layout late;
    late.delays = k;
    check.same_bits("the same call again", check.run(again, late)["y"], y);
  }
}

CLAIM(collective.reduction_order.superacc_permutation) {
  const Call call = some_sum(check).with("order", "exact").call();
  const Tensor<double> x = call["x"], y = check.run(call)["y"];
  const Index n = call.size("n"), S = call.size("S");
  const Index a = check.pick("a", 0, n - 1), b = check.pick("b", 0, n - 1);
  const Tensor<double> turned = exchanged(exchanged(x, a, b), 0, n - 1);
  check.same_bits("the exact sum, ranks permuted", check.run(reading(call, turned))["y"], y);
  // One rank more: a contribution in two parts that add up to it exactly, its leading bits and the rest.
  const Tensor<double> more(Shape{n + 1, S});
  for (Index i = 0; i < S; ++i) {
    for (Index r = 0; r < n; ++r) more.data()[r * S + i] = element(x, r, i);
    const double whole = element(x, a, i), lead = round_to(formats::e5m2, whole, Round::toward_zero);
    const bool split = round_to(*call.contract.in, whole - lead) == whole - lead && whole != 0;
    more.data()[a * S + i] = split ? lead : whole;
    more.data()[n * S + i] = split ? whole - lead : 0;
  }
  const Tensor<double> z = check.run(on_ranks(call, more))["y"];
  for (Index i = 0; i < S; ++i) {
    const double left = element(z, 0, i), right = element(y, 0, i);
    // x - x is +0, whichever zeros the parts were
    check.require(left == right, "the exact sum, one contribution spread over two ranks", left);
  }
}

CLAIM(collective.reduction_order.tree_invariant) {
  const Index V = check.pick("leaves", 0, 1) ? 8 : 4;
  some_sum(check).with("order", "tree").with("n", V).with("pieces", "1");
  // A partial result is an input of the next call: it has to be in the elements' format.
  if (check.contract().in->name != check.contract().acc->name) check.with("node", "element");
  const Call leaves = check.call();
  const Index S = leaves.size("S");
  const Tensor<double> x = leaves["x"], y = check.run(leaves)["y"];
  for (Index n = 1; n < V; n *= 2) {
    const Tensor<double> partial(Shape{n, S});  // of V / n leaves each
    for (Index r = 0; r < n; ++r) {
      const Tensor<double> own(x.storage(), x.data() + r * (V / n) * S, {V / n, S}, {S, 1});
      const Tensor<double> sum = emulated(check, on_ranks(leaves, own.clone()));
      for (Index i = 0; i < S; ++i) partial.data()[r * S + i] = element(sum, 0, i);
    }
    const Tensor<double> z = check.run(on_ranks(leaves, partial))["y"];
    for (Index i = 0; i < S; ++i)
      check.same_bits("the tree over all leaves, on as many ranks and on " + std::to_string(n), element(z, 0, i),
                      element(y, 0, i));
  }
}

}  // namespace assay
