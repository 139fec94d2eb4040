#include "reference/core/readings/dual.hpp"

namespace assay {

/// d/dx 2^x = ln 2 2^x. The constant is ln 2 rounded to double, off by 2.32e-17 < 2^-55.
Dual exp2(const Dual& x) {
  Bound ln2(0x1.62e42fefa39efp-1);
  ln2.b = ln2.w = 0x1p-55;
  const Bound e = exp2(x.v);
  return {e, e.v == 0 ? Bound(0) : e * ln2 * x.d};
}

}  // namespace assay
