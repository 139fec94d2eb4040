#include "reference/core/readings/flow.hpp"

#include "reference/core/math.hpp"

namespace assay {

Flow exp(const Flow& x) { return {math::exp(x.v), x.tokens}; }
Flow exp2(const Flow& x) { return {math::exp2(x.v), x.tokens}; }
Flow log(const Flow& x) { return {math::log(x.v), x.tokens}; }
Flow tanh(const Flow& x) { return {math::tanh(x.v), x.tokens}; }
Flow sqrt(const Flow& x) { return {math::sqrt(x.v), x.tokens}; }

}  // namespace assay
