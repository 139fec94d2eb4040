// A short run of attention's experiment: no honest kernel is rejected, every planted error dies where it changes
// anything, whatever the output's format.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tools/experiment/attention.hpp"

namespace assay::experiment {
namespace {

const double kZ = z_of(kDefaultElements);

void expect_none_rejected(const std::vector<Tally>& all, double highest, std::int64_t elements) {
  Tally total;
  for (const Tally& t : all) {
    total.add(t);
    EXPECT_EQ(t.rejected + t.rows_rejected, 0)
        << t.op << " " << t.contract << ": " << (t.failures.empty() ? "" : t.failures[0]);
    EXPECT_LE(t.max_of_w, 1) << t.op << " " << t.contract << ": the worst case is one";
    EXPECT_GT(t.elements, 0) << t.op << " " << t.contract;
  }
  EXPECT_GT(total.elements, elements);
  EXPECT_LT(total.max_z, highest) << "far from the limit";
}

TEST(AttentionExperiment, HonestKernelsAreNotRejected) {
  const std::vector<Tally> all = run_attention(1, 20261, kZ, {});
  expect_none_rejected(all, 5, 300000);
  EXPECT_EQ(all.size(), attention_contracts().size() * (kAttentionProfiles + 1)) << "every profile, and the LSE";
  // P in 16 bits into fp32: the root mean square is that of uniform roundings below their bound, 0.735.
  int checked = 0;
  for (const Tally& t : all) {
    if (t.contract != "bf16 p=bf16 out=fp32" || t.op != "normal") continue;
    EXPECT_NEAR(std::sqrt(t.squares / static_cast<double>(t.rounding)), 0.68, 0.1);
    ++checked;
  }
  EXPECT_EQ(checked, 1);
}

TEST(AttentionExperiment, StylesCanBeChosen) {
  const std::vector<Tally> some = run_attention(1, 3, kZ, {"fp32", "equal keys", "tile 16"});
  std::set<std::string> contracts;
  for (const Tally& t : some) contracts.insert(t.contract);
  EXPECT_GE(contracts.size(), 5u);
  EXPECT_EQ(contracts.count("bf16 p=bf16"), 0u);
  EXPECT_TRUE(run_attention(1, 3, kZ, {"fp33", "", ""}).empty());
}

TEST(AttentionExperiment, OnlineSoftmaxIsNotRejected) { expect_none_rejected(run_online(8, 5, kZ), 6, 100000); }

TEST(AttentionExperiment, PlantedErrorsDie) {
  using B = AttentionBug;
  const std::set<B> fp32_p = {B::out_truncated, B::sum_of_rounded, B::p_truncated};  // nothing is rounded there
  for (const char* contract : {"bf16 p=bf16", "fp16 p=fp16", "fp32"}) {
    const AttentionKills r = run_attention_bugs(contract, 120, 1, kZ);
    EXPECT_EQ(r.rejected, 0) << (r.failures.empty() ? "" : r.failures[0]);
    EXPECT_GT(r.honest, 1000);
    ASSERT_EQ(r.bugs.size(), static_cast<std::size_t>(kAttentionBugs));
    for (const AttentionKill& k : r.bugs) {
      const bool planted = std::string(contract) != "fp32" || fp32_p.count(k.bug) == 0;
      EXPECT_EQ(k.changed > 0, planted) << contract << ": " << name(k.bug);
      EXPECT_EQ(k.dead(), planted) << contract << ": " << name(k.bug) << " reaches " << k.largest << " of the limit";
    }
  }
}

}  // namespace
}  // namespace assay::experiment
