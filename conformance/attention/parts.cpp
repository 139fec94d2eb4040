#include "conformance/attention/parts.hpp"

namespace assay {

void put(Call& call, const std::string& input, Index i, double to) {
  const Tensor<double> x = call[input].clone();
  x.data()[i] = to;
  call.set(input, x);
}

void set_part(Call& call, char part, Index t, double lse, double o) {
  put(call, std::string("lse") + part, t, lse);
  for (Index c = 0, d = call.size("d"); c < d; ++c) put(call, std::string("o") + part, t * d + c, o);
}

Call two_parts(Check& check) {
  Call call = check.with("form", "lse").call();
  const std::int64_t empty = check.c["empty"];
  for (Index t = 0; t < call.size("T"); ++t) {
    if (empty == 1 || (empty == 3 && t % 2 == 0)) set_part(call, '1', t, -infinity, 0);
    if (empty == 2 || (empty == 3 && t % 2 == 0)) set_part(call, '2', t, -infinity, 0);
  }
  return call;
}

Keys keys_of(Check& check) {
  check.with("form", "lse");
  const Matrix<Bound> x = concat_cols(check.matrix<Bound>("o1"), as_col(check.vector<Bound>("lse1")));  // [T, d + 1]
  const Matrix<Bound> other = concat_cols(check.matrix<Bound>("o2"), as_col(check.vector<Bound>("lse2")));
  return {x, transpose(concat_rows(other, x))};
}

}  // namespace assay
