#include "reference/core/readings/count.hpp"

#include "reference/core/math.hpp"

namespace assay {

Operations& tally() {
  thread_local Operations operations;
  return operations;
}

Count exp(const Count& x) { return ++tally().function, Count(math::exp(x.v)); }
Count exp2(const Count& x) { return ++tally().function, Count(math::exp2(x.v)); }
Count log(const Count& x) { return ++tally().function, Count(math::log(x.v)); }
Count tanh(const Count& x) { return ++tally().function, Count(math::tanh(x.v)); }
Count sqrt(const Count& x) { return ++tally().function, Count(math::sqrt(x.v)); }

}  // namespace assay
