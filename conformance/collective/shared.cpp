#include "conformance/collective/shared.hpp"

#include <cmath>

namespace assay {

Check& some_elements(Check& check) {
  if (check.c["n"] < 2) check.with("n", 2 + check.pick("ranks", 0, 3));
  if (check.c["c"] == 0) check.with("c", 2);
  return check.with("memory", "apart");
}

Check& some_movement(Check& check) {
  const char* const calls[] = {"broadcast", "scatter", "gather", "all_gather", "all_to_all", "send_recv"};
  return some_elements(check).with("call", calls[check.pick("movement", 0, 5)]);
}

Check& no_overflow(Check& check) {
  return check.contract().in->fixed_point() ? check.with("profile", "small_integers") : check;
}

Call holding(Call call, double value) {
  call.set("before", Tensor<double>(call["before"].shape(), value));
  return call;
}

Call reading(Call call, const Tensor<double>& x) {
  call.set("x", x);
  return call;
}

Tensor<double> emulated(Check& check, const Call& call) {
  const ReadingScope scope(Reading{&call.contract, true, 8});
  return check.define<double>(call)["y"];
}

double u_node(const Call& call) {
  const auto opt = CollectiveOptions::from(call.options);
  const bool element = opt.node == CollectiveOptions::Node::element && opt.order != CollectiveOptions::Order::library;
  const Format& f = element ? *call.contract.in : *call.contract.acc;
  return f.fixed_point() ? 0 : f.u();
}

double last_rounding(const Call& call, double y) {
  const Format& out = *call.contract.out;
  return out.fixed_point() || out.u() <= u_node(call) ? 0 : ulp(out, y) / 2;
}

double depth_bound(const Call& call, Index i, Index depth) {
  const Tensor<double> x = call["x"];
  double sum = 0;
  for (Index r = 0; r < x.shape()[0]; ++r) sum += std::fabs(element(x, r, i));
  const double d = static_cast<double>(depth) * u_node(call);
  // the sum of absolute values is itself computed in double, as is this product
  return d / (1 - d) * sum * (1 + 0x1p-40);
}

}  // namespace assay
