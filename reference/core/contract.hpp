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
/// `probabilities` is what a softmax stores between its passes: exp(x - m), or x - m on the way to log p; `scores` the
/// logits of an attention where they are stored.
/// `stored` is the inputs' format: what a later call takes as input, as a cache.
enum class Site { output, statistic, probabilities, cast, accumulator, scores, stored };

// What else the author of a fused softmax-weighted mean (an attention) declares; spec/numerics/verdict.md, "The
// softmax-weighted mean".

/// What is stored in the format of probabilities: exp(s - m), divided by the row's sum at the end; or p itself.
enum class PScale { unnormalised, normalised };
/// Of what the row's sum l is taken: of the exponentials before, or after, they are rounded for the product with v.
enum class RowSum { unrounded, rounded };
/// How the argument of an exponential is formed: as a difference s - m, times a constant where the base is 2, so that
/// the largest weight is exactly 1; or as s c - m c from rounded products, as in fma(s, c, -m c), where it is not.
enum class Exponent { difference, fma };

/// The numerical contract of an implementation: what it stores in which format, how it accumulates, how good its
/// elementary functions are. Spelled "in=bf16 acc=fp32 out=bf16"; what is not spelled is the default, the weakest
/// common kernel.
struct Contract {
  const Format* in = nullptr;       // inputs
  const Format* out = nullptr;      // outputs
  const Format* acc = nullptr;      // accumulators, statistics and every unnamed intermediate
  const Format* p = nullptr;        // unnormalised probabilities where they are stored (default: acc)
  const Format* s = nullptr;        // scores of an attention where they are stored (default: acc)
  const Format* partial = nullptr;  // results of the splits of an attention before they are merged (default: acc)
  const Format* cast = nullptr;     // what a declared cast before the last multiplication rounds to (default: out)
  Accumulate kind = Accumulate::nearest;
  int mma_f = 24, mma_k0 = 8;  // with kind mma
  Order order = Order::oblivious;
  double exp_ulp = 2.5, log_ulp = 2.5, rsqrt_ulp = 2.0,
         tanh_ulp = 2.5;  // errors of the accumulator's elementary functions, in its ulps (2u)
  Round out_round = Round::nearest_even;
  PScale p_scale = PScale::unnormalised;
  RowSum l = RowSum::unrounded;
  Exponent exponent = Exponent::difference;
  int tile = 16;       // fewest keys taken in at a time: the running maximum may change once per tile
  int splits = 4;      // most parts into which the keys of a row are split and merged
  int split_min = 17;  // fewest keys of which there is more than one part

  /// Unit roundoff of the accumulator. An integer one holds every sum below 2^p exactly, which is what its bound needs
  /// to know.
  double u() const { return acc->fixed_point() ? pow2(-acc->p()) : acc->u(); }
  const Format& site(Site at) const {
    switch (at) {
      case Site::output:
        return *out;
      case Site::probabilities:
        return *p;
      case Site::cast:
        return *cast;
      case Site::scores:
        return *s;
      case Site::stored:
        return *in;
      default:
        return *acc;
    }
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
