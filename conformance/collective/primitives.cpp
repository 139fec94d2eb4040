#include "conformance/collective/shared.hpp"

#include <algorithm>
#include <cmath>

// Claims of spec/collective/primitives.md.
namespace assay {
namespace {

using Kind = CollectiveOptions::Call;

template <class T>
void collective_op(Eval<T>& e) {
  const auto opt = e.template options<CollectiveOptions>();
  const Matrix<T> x = e.matrix("x");
  const Index n = x.rows();
  Matrix<Index> counts;  // [n, n]
  if (e.has("counts")) {
    const Tensor<Index> c = e.index_tensor("counts");
    require_shape("counts", c.shape(), {n * n});
    counts = Matrix<Index>(c.storage(), c.data(), n, n, n, 1);
  }
  e.out("y", collective<T>(x, e.has("before") ? e.matrix("before") : Matrix<T>(), counts, opt));
  // A barrier keeps every rank until all have entered.
  if (opt.call == Kind::barrier) e.out("entered", full<T>(n, static_cast<double>(n)));
}

Kind kind(const Call& call) { return CollectiveOptions::from(call.options).call; }
Index root(const Call& call) { return static_cast<Index>(call.option("root")) % call.size("n"); }

/// Where the elements of a call with blocks arrive: the receive range of rank r, which begins at 0 (buffers apart).
Index received(const Call& call, Index r) {
  const Index n = call.size("n"), S = call.size("S"), c = S / n;
  Index sum = 0;
  switch (kind(call)) {
    case Kind::scatter:
    case Kind::reduce_scatter:
      return c;
    case Kind::reduce:
      return r == root(call) ? S : 0;
    case Kind::gather:
      return r == root(call) ? n * c : 0;
    case Kind::all_gather:
    case Kind::all_to_all:
      return n * c;
    case Kind::all_to_all_v:
      for (Index s = 0; s < n; ++s) sum += static_cast<Index>(call["counts"].at_flat(s * n + r));
      return sum;
    case Kind::barrier:
      return 0;
    case Kind::broadcast:
    case Kind::all_reduce:
    case Kind::send_recv:
      break;
  }
  return S;
}

/// <y, b> in 106 bits, y the answer to a call, and how far it may be from that of the exact linear map: what is a sum
/// of n terms may err by depth u sum |x|, which is the map of |x|, and a last rounding.
struct Inner {
  Wide value = Wide(0);
  double error = 0;
};
Inner inner(Check& check, const Call& call, const Tensor<double>& y, const Tensor<double>& b) {
  const Tensor<double> absolute = call["x"].clone();
  for (Index i = 0; i < absolute.size(); ++i) absolute.data()[i] = std::fabs(absolute.data()[i]);
  const Tensor<Wide> exact = check.define<Wide>(call)["y"];
  const Tensor<double> terms = check.define<double>(reading(call, absolute))["y"];
  const double d =
      static_cast<double>(reduction_depth(CollectiveOptions::from(call.options).order, call.size("n"))) * u_node(call);
  Inner sum;
  for (Index i = 0; i < y.size(); ++i) {
    const double p = y.at_flat(i), q = b.at_flat(i);
    const Wide off = Wide(p) - exact.at_flat(i);
    if (off.hi != 0 || off.lo != 0)
      sum.error += std::fabs(q) * (d / (1 - d) * terms.at_flat(i) * (1 + 0x1p-40) + last_rounding(call, p));
    sum.value = sum.value + Wide(p) * Wide(q);
    sum.error += 0x1p-90 * std::fabs(p * q);  // of the sum itself, in Wide
  }
  return sum;
}

/// x with its ranks renamed: rank r becomes p[r]; the blocks of each buffer with them where `blocks` is set.
Tensor<double> renamed(const Tensor<double>& x, const std::vector<Index>& p, bool blocks) {
  const Index n = x.shape()[0], S = x.shape()[1], c = S / n;
  const Tensor<double> y(x.shape());
  for (Index r = 0; r < n; ++r)
    for (Index i = 0; i < S; ++i) {
      const Index to = blocks && i < n * c ? p[static_cast<std::size_t>(i / c)] * c + i % c : i;
      y.data()[p[static_cast<std::size_t>(r)] * S + to] = element(x, r, i);
    }
  return y;
}

/// A permutation of n ranks that depends on the seed.
std::vector<Index> permutation(const Check& check, Index n) {
  std::vector<Index> p;
  for (Index r = 0; r < n; ++r) p.push_back(r);
  for (Index r = n; r-- > 1;)
    std::swap(p[static_cast<std::size_t>(r)],
              p[static_cast<std::size_t>(check.pick("place " + std::to_string(r), 0, r))]);
  return p;
}

std::vector<double> sorted(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x;
}

Call with_call(Check& check, const char* name) { return check.with("call", name).call(); }

}  // namespace

DEFINITION(collective.primitives, collective, collective_op)

CLAIM(collective.primitives.accuracy) {
  const Call call = check.call();
  check.accurate(call, check.run(call));
}

CLAIM(collective.primitives.adjoint) {
  const std::pair<const char*, const char*> pairs[] = {
      {"broadcast", "reduce"},      {"scatter", "gather"},        {"all_gather", "reduce_scatter"},
      {"all_reduce", "all_reduce"}, {"all_to_all", "all_to_all"}, {"all_to_all_v", "all_to_all_v"},
      {"send_recv", "send_recv"}};
  const auto& pair = pairs[check.pick("pair", 0, 6)];
  // Sums of small integers are exact in every format and order: both sides are equal then.
  some_elements(check)
      .with("reduction", "sum")
      .with("profile", check.pick("exact", 0, 1) ? "small_integers" : "uniform");
  const Call maps = with_call(check, pair.first), case_of = with_call(check, pair.second);
  const Tensor<double> x = maps["x"], z = case_of["before"];
  const Call forward = holding(maps, 0);
  Call back = reading(holding(case_of, 0), z);
  if (forward.inputs.has("counts")) {
    const Tensor<double> counts(forward["counts"].shape());
    const Index n = forward.size("n");
    for (Index r = 0; r < n; ++r)
      for (Index s = 0; s < n; ++s) counts.data()[r * n + s] = forward["counts"].at_flat(s * n + r);
    back.set("counts", counts);
  }
  if (kind(forward) == Kind::send_recv) back.set_option("root", static_cast<double>(forward.size("n") - root(forward)));
  const Tensor<double> y = check.run(forward)["y"], w = check.run(back)["y"];
  const Inner left = inner(check, forward, y, z), right = inner(check, back, w, x);
  const Wide apart = left.value - right.value;
  check.at_most("|<A x, z> - <x, A* z>| of " + std::string(pair.first) + " and " + pair.second,
                std::fabs(apart.hi + apart.lo), left.error + right.error);
}

CLAIM(collective.primitives.allgather_scatter) {
  some_elements(check);
  const Call scatter = with_call(check, "scatter"), gather = with_call(check, "gather");
  const Tensor<double> parts = check.run(scatter)["y"], y = check.run(reading(gather, parts))["y"];
  const Index n = scatter.size("n"), S = scatter.size("S"), r = root(scatter);
  for (Index i = 0; i < S / n * n; ++i)
    check.same_bits("what the root scattered and gathered", element(y, r, i), element(scatter["x"], r, i));
}

CLAIM(collective.primitives.alltoall_involution) {
  const Call call = with_call(some_elements(check), "all_to_all");
  const Tensor<double> once = check.run(call)["y"], twice = check.run(reading(call, once))["y"];
  const Index n = call.size("n"), S = call.size("S");
  for (Index r = 0; r < n; ++r)
    for (Index i = 0; i < S / n * n; ++i)
      check.same_bits("all_to_all twice", element(twice, r, i), element(call["x"], r, i));
}

CLAIM(collective.primitives.backend_equivalence) {
  // Every back end is asked for the same bits: those of the definition, each partial result rounded as declared.
  const auto same = [&] {
    const Call call = check.call();
    check.same_bits("y, on this back end and defined", check.run(call)["y"], emulated(check, call));
  };
  const char* const moves[] = {"broadcast",  "scatter",      "gather",   "all_gather",
                               "all_to_all", "all_to_all_v", "send_recv"};
  const char* const reductions[] = {"all_reduce", "reduce", "reduce_scatter"};
  no_overflow(some_elements(check)).with("call", moves[check.pick("move", 0, 6)]);
  same();
  if (check.c.name_of("reduction") == "max" || check.c.name_of("reduction") == "min") check.with("reduction", "sum");
  check.with("call", reductions[check.pick("reduction", 0, 2)]);
  for (const char* order : {"fold", "tree"}) {
    check.with("order", order);
    same();
  }
}

CLAIM(collective.primitives.canary) {
  // What is read, and what lies around both buffers, the group itself watches in every call: a change breaks it.
  check.with("memory", "apart");
  if (check.c["n"] < 2) check.with("n", 3);
  const Call call = check.call();
  const Tensors y = check.run(call);
  check.nothing_to_compare();
  for (Index r = 0; r < call.size("n"); ++r)
    for (Index i = received(call, r); i < call.size("S"); ++i)
      check.same_bits("an element outside the receive range of rank " + std::to_string(r), element(y["y"], r, i),
                      element(call["before"], r, i));
}

CLAIM(collective.primitives.conservation) {
  some_elements(check).with("profile", "normal");
  const double nothing = -77;  // no element has this value: they are standard normal
  const Call call = holding(with_call(check, "all_to_all_v"), nothing);
  const Tensor<double> y = check.run(call)["y"];
  const Index n = call.size("n"), S = call.size("S");
  std::vector<double> sent, arrived;
  for (Index r = 0; r < n; ++r) {
    Index out = 0, in = 0;
    for (Index s = 0; s < n; ++s) out += static_cast<Index>(call["counts"].at_flat(r * n + s));
    for (Index i = 0; i < out; ++i) sent.push_back(element(call["x"], r, i));
    for (Index i = 0; i < S; ++i) {
      if (element(y, r, i) == nothing) continue;
      arrived.push_back(element(y, r, i));
      ++in;
    }
    check.require(in == received(call, r), "elements that rank " + std::to_string(r) + " got", static_cast<double>(in));
  }
  check.require(sent.size() == arrived.size(), "as many elements arrive as are sent",
                static_cast<double>(arrived.size()));
  sent = sorted(sent);
  arrived = sorted(arrived);
  for (std::size_t i = 0; i < sent.size(); ++i) check.same_bits("the multiset of elements", arrived[i], sent[i]);
}

CLAIM(collective.primitives.count0) {
  // No element at all, and blocks of none: fewer elements than ranks.
  check.with("memory", "apart").with("c", 0).with("rest", check.c.name_of("call") == "barrier" ? 0 : check.c["rest"]);
  const Call call = check.call(), empty = check.with("rest", 0).call();
  const bool blocks = kind(call) != Kind::all_reduce && kind(call) != Kind::reduce && kind(call) != Kind::broadcast &&
                      kind(call) != Kind::send_recv;
  if (blocks && call.size("S") < call.size("n"))
    check.same_bits("buffers with blocks of no element", check.run(call)["y"], call["before"]);
  check.require(check.run(empty)["y"].size() == 0, "a call of no element returns none");
  if (kind(empty) != Kind::barrier)  // whose ranks tell each other when they entered
    for (const std::int64_t bytes : check.sent())
      check.require(bytes == 0, "bytes that a rank sends", static_cast<double>(bytes));
  // It still synchronises: a barrier is a call of no element.
  const Call barrier = check.with("call", "barrier").call();
  const Tensor<double> entered = check.run(barrier)["entered"];
  for (Index r = 0; r < entered.size(); ++r)
    check.same_bits("ranks that had entered when rank " + std::to_string(r) + " left", entered.at_flat(r),
                    static_cast<double>(entered.size()));
  // And matches: ranks that are late change nothing.
  Layout late;
  late.delays = 1 + static_cast<std::uint32_t>(check.pick("delays", 0, 1000));
  const Tensor<double> again = check.run(barrier, late)["entered"];
  check.same_bits("ranks that had entered, with messages delayed", again, entered);
}

CLAIM(collective.primitives.mpi_allreduce_f64) {
  if (check.contract().in->name != formats::fp64.name) throw NotOffered{"fp64, which this claim is about"};
  some_elements(check).with("reduction", "sum").with("order", "library").with("profile", "normal");
  const Call call = with_call(check, "all_reduce"), fold = check.with("order", "fold").call();
  const Tensors y = check.run(call);
  check.accurate(call, y);
  const Tensor<double> in_order = emulated(check, fold);
  const Index n = call.size("n");
  for (Index r = 0; r < n; ++r)
    for (Index i = 0; i < call.size("S"); ++i)
      check.at_most("|library - fold|", std::fabs(element(y["y"], r, i) - element(in_order, r, i)),
                    2 * depth_bound(call, i, n - 1));
}

CLAIM(collective.primitives.mpi_allreduce_int) {
  if (!check.contract().in->fixed_point()) throw NotOffered{"integers, which this claim is about"};
  some_elements(check).with("order", "library").with("profile", "small_integers");
  if (check.c.name_of("reduction") == "avg") check.with("reduction", "sum");
  const Call call = with_call(check, "all_reduce"), fold = check.with("order", "fold").call();
  check.same_bits("the library's all_reduce and the fold", check.run(call)["y"], emulated(check, fold));
}

CLAIM(collective.primitives.permute) {
  some_elements(check);
  const char* const calls[] = {"broadcast", "scatter",    "gather",         "all_gather", "all_to_all",
                               "send_recv", "all_reduce", "reduce_scatter", "reduce"};
  const auto which = check.pick("call", 0, 8);
  if (which > 5) {  // reductions: bit for bit on integers, whatever the order
    check.with("profile", "small_integers");
    const std::string op = check.c.name_of("reduction");
    if (op == "prod" || op == "avg") check.with("reduction", "sum");
  }
  const Call call = holding(with_call(check, calls[which]), 0);
  const Index n = call.size("n");
  const Kind k = kind(call);
  std::vector<Index> p = permutation(check, n);
  if (k == Kind::send_recv)  // to the right of whom, if not in a ring: names may only be turned
    for (Index r = 0; r < n; ++r) p[static_cast<std::size_t>(r)] = (r + 1) % n;
  const bool read = k == Kind::scatter || k == Kind::all_to_all || k == Kind::reduce_scatter,
             written = k == Kind::gather || k == Kind::all_gather || k == Kind::all_to_all;
  Call other = reading(call, renamed(call["x"], p, read));
  if (k != Kind::send_recv) other.set_option("root", static_cast<double>(p[static_cast<std::size_t>(root(call))]));
  check.same_bits("y with the ranks renamed", check.run(other)["y"], renamed(check.run(call)["y"], p, written));
}

}  // namespace assay
