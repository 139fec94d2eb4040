#include "tools/experiment/attention_report.hpp"

#include <cmath>
#include <cstdio>

namespace assay::experiment {

namespace {

const Tally* find(const std::vector<Tally>& all, const std::string& op, const std::string& contract) {
  for (const Tally& t : all)
    if (t.op == op && t.contract == contract) return &t;
  return nullptr;
}

void print_row(const std::vector<Tally>& all, const char* op) {
  std::printf("| %s |", op);
  for (const std::string contract : attention_contracts()) {
    const Tally* t = find(all, op, contract);
    if (!t) {
      std::printf(" - |");
      continue;
    }
    std::printf(" %.2f, %.2f%s |", t->max_z,
                t->rounding > 0 ? std::sqrt(t->squares / static_cast<double>(t->rounding)) : 0.0,
                t->rejected + t->rows_rejected > 0 ? " REJECTED" : "");
  }
  std::printf("\n");
}

int report_total(const std::vector<Tally>& all, double z) {
  Tally total;
  for (const Tally& t : all) total.add(t);
  std::printf(
      "\n%lld elements, %lld runs; largest z %.2f; rejected %lld elements, %lld runs by the aggregate test (largest "
      "gain "
      "%.2f, spread %.2f of its limit); largest distance / w %.2f; limit z %.2f\n\n| z from | elements |\n|---|---|\n",
      static_cast<long long>(total.elements), static_cast<long long>(total.rows), total.max_z,
      static_cast<long long>(total.rejected), static_cast<long long>(total.rows_rejected), total.max_gain,
      total.max_spread, total.max_of_w, z);
  for (std::size_t i = 0; i < total.bins.size(); ++i)
    if (total.bins[i])
      std::printf("| %.2f | %lld |\n", static_cast<double>(i) / 4, static_cast<long long>(total.bins[i]));
  for (const Tally& t : all)
    if (t.max_z > 4 && !t.farthest.empty()) std::printf("farthest: %s\n", t.farthest.c_str());
  for (const Tally& t : all)
    if (t.max_gain > 0.8) std::printf("largest gain %.2f: %s\n", t.max_gain, t.largest_gain.c_str());
  for (const std::string& f : total.failures) std::printf("rejected: %s\n", f.c_str());
  return total.elements > 0 && total.rejected + total.rows_rejected == 0 ? 0 : 1;
}

}  // namespace

int report_attention(int effort, std::uint64_t seed, double z, const AttentionChoice& choice) {
  const std::vector<Tally> all = run_attention(effort, seed, z, choice);
  std::printf("Largest z, and its root mean square where roundings dominate.\n\n| profile |");
  for (const std::string contract : attention_contracts()) std::printf(" %s |", contract.c_str());
  std::printf("\n|---|---|---|---|---|---|---|---|---|---|\n");
  for (int p = 0; p < kAttentionProfiles; ++p) print_row(all, attention_profile(p));
  print_row(all, "lse");
  return report_total(all, z);
}

int report_online(int effort, std::uint64_t seed, double z) {
  const std::vector<Tally> all = run_online(effort, seed, z);
  std::printf(
      "| rows | contract | largest z | rms where roundings dominate | largest distance / w |\n|---|---|---|---|---|\n");
  for (const Tally& t : all)
    std::printf("| %s | %s | %.2f | %.2f | %.2f |\n", t.op.c_str(), t.contract.c_str(), t.max_z,
                t.rounding > 0 ? std::sqrt(t.squares / static_cast<double>(t.rounding)) : 0.0, t.max_of_w);
  return report_total(all, z);
}

int report_attention_bugs(int tiny, std::uint64_t seed, double z, const std::string& choice) {
  bool rejected = false, any = false;
  for (const std::string contract : attention_contracts()) {
    if (contract.find(choice) == std::string::npos) continue;
    any = true;
    const AttentionKills r = run_attention_bugs(contract, tiny, seed, z);
    std::printf(
        "\n%s: %lld honest runs, %lld rejected\n\n| planted | changed of trials | generic | structured | tiny | "
        "by the aggregate alone | largest distance / allowed |\n|---|---|---|---|---|---|---|\n",
        contract.c_str(), static_cast<long long>(r.honest), static_cast<long long>(r.rejected));
    int dead = 0, alive = 0;
    for (const AttentionKill& k : r.bugs) {
      std::printf("| %s | %d of %d | %d | %d | %d | %d, %d | %.3g%s |\n", name(k.bug), k.changed, k.trials, k.generic,
                  k.structured, k.tiny, k.generic_aggregate, k.tiny_aggregate, k.largest,
                  k.changed == 0 ? " no plant"
                  : k.dead()     ? ""
                                 : " SURVIVES");
      dead += k.dead();
      alive += k.changed > 0 && !k.dead();
    }
    std::printf("\n%d of %d killed, %d survive\n", dead, kAttentionBugs, alive);
    for (const std::string& f : r.failures) std::printf("rejected: %s\n", f.c_str());
    rejected |= r.rejected > 0;
  }
  return any && !rejected ? 0 : 1;
}

}  // namespace assay::experiment
