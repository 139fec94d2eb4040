// A short run of the honest-kernel experiment: no honest kernel is rejected, the bounds mean something, planted errors
// die.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "tools/experiment/honest.hpp"

namespace assay::experiment {
namespace {

struct HonestKernels : ::testing::Test {
  static const Results& results() {
    static const Results r = run_honest(1, 20240607, z_of(kDefaultElements));
    return r;
  }
};

TEST_F(HonestKernels, NoneIsRejected) {
  Tally all;
  for (const Tally& t : results().honest) {
    all.add(t);
    EXPECT_EQ(t.rejected, 0) << t.op << " " << t.contract << ": " << (t.failures.empty() ? "" : t.failures[0]);
    EXPECT_EQ(t.rows_rejected, 0) << t.op << " " << t.contract << ": " << (t.failures.empty() ? "" : t.failures[0]);
    EXPECT_LE(t.max_of_w, 1) << t.op << " " << t.contract << ": the worst case is one";
    EXPECT_GT(t.elements, 5000) << t.op << " " << t.contract;
  }
  EXPECT_GT(all.elements, 5000000);
  // A tail that falls like a Gaussian's: beyond 5 sigma there is next to nothing, far from the limit.
  std::int64_t beyond = 0;
  for (std::size_t i = 20; i < all.bins.size(); ++i) beyond += all.bins[i];
  EXPECT_LT(beyond, 20);
}

TEST_F(HonestKernels, PowerIsKept) {
  // Where roundings to nearest dominate, the root mean square of z is near what uniform roundings below their bound
  // give.
  int checked = 0;
  for (const Tally& t : results().honest) {
    if (t.contract != "fp32" && t.contract != "bf16_out_fp32") continue;
    if (t.op == "dot" && t.contract != "fp32") continue;  // 16-bit products: most sums are exact
    if (t.op == "rms_norm, cast") continue;               // emulated: all of them are
    if (t.rounding < 1000) continue;
    const double rms = std::sqrt(t.squares / static_cast<double>(t.rounding));
    EXPECT_GT(rms, 0.735 / 5) << t.op << " " << t.contract;
    EXPECT_LT(rms, 0.8) << t.op << " " << t.contract;
    ++checked;
  }
  EXPECT_GE(checked, 7);
}

TEST_F(HonestKernels, PlantedErrorsAreRejected) {
  // Truncating or twice rounding an fp32 output of an fp32 accumulator changes nothing: no error is planted there.
  const auto planted = [](const Kill& k) {
    const bool about_output = k.bug == name(Planted::out_truncated) || k.bug == name(Planted::out_twice);
    const bool narrow = (k.contract == "bf16" || k.contract == "fp16") && k.op != "softmax lse";
    return !about_output || narrow;
  };
  // Too small to show where it is hidden: errors of exponentials below an ulp of a bf16 logarithm, and the cancellation
  // of a one-pass variance (only shifted rows have it) in a 16-bit output.
  const std::set<std::string> hidden = {"softmax log p bf16 exponentials rounded to fp16",
                                        "layer_norm bf16 one-pass variance", "layer_norm fp16 one-pass variance"};
  int killed = 0;
  for (const Kill& k : results().planted) {
    if (!planted(k) || hidden.count(k.op + " " + k.contract + " " + k.bug) != 0) continue;
    EXPECT_GT(k.by_element + k.by_aggregate, 0) << k.op << " " << k.contract << " " << k.bug << " " << k.largest;
    killed += k.by_element + k.by_aggregate > 0;
  }
  EXPECT_GT(killed, 100);
}

}  // namespace
}  // namespace assay::experiment
