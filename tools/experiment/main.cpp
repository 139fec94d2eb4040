// assay_honest [effort] [seed] [op]: prints the tables of page numerics.verdict.
// assay_honest EFFORT SEED attention [contract] [profile] [style]: attention's; parts of names, "" takes all.
// assay_honest CASES SEED online: online softmax's.
// assay_honest TINY SEED attention-bugs [contract]: its planted errors, with so many cases of the emulated tier.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <string>

#include "tools/experiment/attention_report.hpp"
#include "tools/experiment/honest.hpp"

using namespace assay::experiment;

int main(int argc, char** argv) {
  const double effort = argc > 1 ? std::atof(argv[1]) : 1;
  const auto seed = static_cast<std::uint64_t>(argc > 2 ? std::atoll(argv[2]) : 1);
  if (!(effort > 0)) {
    std::fprintf(stderr,
                 "usage: assay_honest [effort > 0] [seed] [op | attention [contract] [profile] [style] | "
                 "attention-bugs [contract]]\n");
    return 2;
  }
  const double z = assay::z_of(assay::kDefaultElements);
  const auto word = [&](int i) { return std::string(argc > i ? argv[i] : ""); };
  if (word(3) == "attention") return report_attention(static_cast<int>(effort), seed, z, {word(4), word(5), word(6)});
  if (word(3) == "online") return report_online(static_cast<int>(effort), seed, z);
  if (word(3) == "attention-bugs") return report_attention_bugs(static_cast<int>(effort), seed, z, word(4));
  const Results r = run_honest(effort, seed, z, argc > 3 ? argv[3] : "");
  Tally all;
  std::printf(
      "| op | contract | elements | max z | rms z where roundings dominate (elements) | max distance/w | aggregate: "
      "gain, spread of limit | rejected |\n|---|---|---|---|---|---|---|---|\n");
  for (const Tally& t : r.honest) {
    all.add(t);
    std::printf("| %s | %s | %lld | %.2f | ", t.op.c_str(), t.contract.c_str(), static_cast<long long>(t.elements),
                t.max_z);
    if (t.rounding > 0)
      std::printf("%.2f (%lld)", std::sqrt(t.squares / static_cast<double>(t.rounding)),
                  static_cast<long long>(t.rounding));
    else
      std::printf("-");
    std::printf(" | %.2f | %.2f, %.2f | %lld of %lld, rows %lld |\n", t.max_of_w, t.max_gain, t.max_spread,
                static_cast<long long>(t.rejected), static_cast<long long>(t.elements),
                static_cast<long long>(t.rows_rejected));
  }
  std::printf(
      "\n%lld elements, %lld rows; largest z %.2f; rejected %lld elements, %lld rows by the aggregate test; limit z "
      "%.2f\n\n| z from |",
      static_cast<long long>(all.elements), static_cast<long long>(all.rows), all.max_z,
      static_cast<long long>(all.rejected), static_cast<long long>(all.rows_rejected), z);
  std::printf(" elements |\n|---|---|\n");
  for (std::size_t i = 0; i < all.bins.size(); ++i)
    if (all.bins[i]) std::printf("| %.2f | %lld |\n", static_cast<double>(i) / 4, static_cast<long long>(all.bins[i]));
  std::printf(
      "\n| op | contract | planted error | rows | rejected: by an element | by the aggregate | largest "
      "distance/allowed |\n|---|---|---|---|---|---|---|\n");
  for (const Kill& k : r.planted)
    std::printf("| %s | %s | %s | %lld | %lld | %lld | %.3g |\n", k.op.c_str(), k.contract.c_str(), k.bug.c_str(),
                static_cast<long long>(k.rows), static_cast<long long>(k.by_element),
                static_cast<long long>(k.by_aggregate), k.largest);
  std::printf("\n| ramp step | rescaled every | exp | largest distance/allowed |\n|---|---|---|---|\n");
  for (const Outside& o : run_outside(z))
    std::printf("| %g | %d | %s | %.3g |\n", o.step, o.tile, o.form == 0 ? "correctly rounded" : "+2 ulp always",
                o.of_allowed);
  for (const Tally& t : r.honest)
    if (!t.farthest.empty() || t.max_gain > 0.5)
      std::printf("farthest: %s\n  largest gain %.2f: %s\n", t.farthest.c_str(), t.max_gain, t.largest_gain.c_str());
  for (const std::string& f : all.failures) std::printf("rejected: %s\n", f.c_str());
  return all.rejected + all.rows_rejected == 0 ? 0 : 1;
}
