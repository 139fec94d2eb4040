#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "reference/core/format.hpp"

namespace assay {

/// How sums are accumulated: rounded to nearest after every addition; truncated; or a matrix unit's aligned, truncating
/// dot-add with F fractional bits over steps of K0 products (catalogue `acc.mma_model`).
enum class Accumulate { nearest, truncate, mma };

/// In what order terms of a sum may be added: as they come (forward or backward), in any order chosen without looking
/// at the data (tiles, lanes, trees, splits), or in any order at all.
enum class Order { contiguous, oblivious, any };

/// Places where a kernel rounds an intermediate. `output` is judged by its interval, so it adds no error to a bound.
/// `probabilities` is what a softmax stores between its passes: exp(x - m), or x - m on the way to log p.
enum class Site { output, statistic, probabilities, cast, accumulator };

/// The numerical contract of an implementation: what it stores in which format, how it accumulates, how good its
/// elementary functions are. Spelled "in=bf16 acc=fp32 out=bf16"; what is not spelled is the default, the weakest
/// common kernel.
struct Contract {
  const Format* in = nullptr;    // inputs
  const Format* out = nullptr;   // outputs
  const Format* acc = nullptr;   // accumulators, statistics and every unnamed intermediate
  const Format* p = nullptr;     // unnormalised probabilities where they are stored (default: acc)
  const Format* cast = nullptr;  // what a declared cast before the last multiplication rounds to (default: out)
  Accumulate kind = Accumulate::nearest;
  int mma_f = 24, mma_k0 = 8;  // with kind mma
  Order order = Order::oblivious;
  double exp_ulp = 2.5, log_ulp = 2.5,
         rsqrt_ulp = 2.0;  // errors of the accumulator's elementary functions, in its ulps (2u)
  Round out_round = Round::nearest_even;

  /// Unit roundoff of the accumulator. An integer one holds every sum below 2^p exactly, which is what its bound needs
  /// to know.
  double u() const { return acc->fixed_point() ? pow2(-acc->p()) : acc->u(); }
  const Format& site(Site s) const {
    return s == Site::output ? *out : s == Site::probabilities ? *p : s == Site::cast ? *cast : *acc;
  }
  /// The shorthand; parse(spell()) gives the same contract.
  std::string spell() const;
};

/// Reads a preset name (fp64, fp32, fp16, bf16, ...) or a shorthand. Throws Error naming the field, the value and what
/// is allowed.
Contract parse_contract(std::string_view text);
/// The presets, by name.
const std::vector<std::string>& contract_presets();

/// What the readings look at while a definition is evaluated: the contract, z, and whether `double` emulates rounding
/// sites.
struct Reading {
  const Contract* contract = nullptr;  // nullptr: exact; Bound then reads as contract fp64
  bool emulate = false;
  double z = 8.0;
};

/// The reading of this thread.
const Reading& reading();
/// Sets this thread's reading for a scope. The adapter hands it on to the threads it uses.
class ReadingScope {
 public:
  explicit ReadingScope(const Reading& r);
  ~ReadingScope();
  ReadingScope(const ReadingScope&) = delete;
  ReadingScope& operator=(const ReadingScope&) = delete;

 private:
  Reading before_;
};

}  // namespace assay
