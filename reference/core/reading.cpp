// The reading of a thread.
#include "reference/core/contract.hpp"
#include "reference/core/readings/bound_model.hpp"

namespace assay {

namespace {

const Contract& exact_contract() {
  static const Contract fp64 = parse_contract("fp64");
  return fp64;
}

struct Current {
  Reading reading;
  detail::BoundModel model{exact_contract(), Reading{}.z};
};

Current& current() {
  thread_local Current c;
  return c;
}

void set(const Reading& r) {
  current().reading = r;
  current().model = detail::BoundModel(r.contract ? *r.contract : exact_contract(), r.z);
}

}  // namespace

const Reading& reading() { return current().reading; }

const detail::BoundModel& detail::bound_model() { return current().model; }

detail::BoundModel::BoundModel(const Contract& c, double limit)
    : contract(&c),
      acc(c.acc),
      u(c.u()),
      variance(u * u / 3),
      exp_error(c.exp_ulp * 2 * u),
      log_error(c.log_ulp * 2 * u),
      rsqrt_error(c.rsqrt_ulp * 2 * u),
      tanh_error(c.tanh_ulp * 2 * u),
      min_normal(c.acc->min_normal()),
      half_step(c.acc->min_subnormal() / 2),
      max(c.acc->max_finite()),
      z(limit) {}

ReadingScope::ReadingScope(const Reading& r) : before_(current().reading) { set(r); }
ReadingScope::~ReadingScope() { set(before_); }

}  // namespace assay
