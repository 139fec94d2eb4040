#include "tools/experiment/attention.hpp"

#include <cmath>

namespace assay::experiment {

namespace {

bool chosen(const std::string& part, const std::string& whole) { return whole.find(part) != std::string::npos; }

Row row_of(const char* output, const Format& f, const Matrix<Bound>& y) {
  Row r{output, &f, {}, {}};
  for (Index i = 0; i < y.rows(); ++i)
    for (Index j = 0; j < y.cols(); ++j) r.y.push_back(y(i, j));
  return r;
}

/// A contract and what a style may declare beside it.
std::vector<Contract> declared(const std::string& contract) {
  std::vector<Contract> all;
  const Contract c = parse_contract(contract);
  all.push_back(c);
  all.push_back(parse_contract(contract + " exponent=fma"));
  if (c.l == RowSum::unrounded) all.push_back(parse_contract(contract + " p_scale=normalised"));
  all.push_back(parse_contract(contract + " tile=1 split_min=100000"));
  return all;
}

}  // namespace

const std::vector<const char*>& attention_contracts() {
  static const std::vector<const char*> all{"bf16 p=bf16",
                                            "bf16 p=bf16 out=fp32",
                                            "bf16 p=fp32 out=fp32",
                                            "fp16 p=fp16",
                                            "fp16 p=fp16 out=fp32",
                                            "fp32",
                                            "bf16 p=bf16 out=fp32 l=rounded",
                                            "fp16 p=fp32 out=fp32 kind=rz",
                                            "fp16 p=fp16 out=fp32 kind=mma(24,8)"};
  return all;
}

std::vector<Tally> run_attention(int effort, std::uint64_t seed, double z, const AttentionChoice& choice) {
  std::vector<Tally> all;
  Random random(seed);
  for (int repeat = 0; repeat < effort; ++repeat)
    for (const std::string contract : attention_contracts()) {
      if (!chosen(choice.contract, contract)) continue;
      for (int profile = 0; profile < kAttentionProfiles; ++profile) {
        if (!chosen(choice.profile, attention_profile(profile))) continue;
        const AttentionCase a = draw_attention(profile, *parse_contract(contract).in, random);
        for (const Contract& c : declared(contract)) {
          const ReadingScope scope({&c, false, z});
          const SoftmaxMean<Bound> y = define_attention(a);
          Row o = row_of("o", *c.out, y.o), lse = row_of("lse", *c.acc, as_col(y.lse));
          for (const AttentionStyle& style : attention_styles(c)) {
            if (!chosen(choice.style, style.name)) continue;
            const AttentionResult r = attention_kernel(a, c, style, AttentionBug::none);
            const std::string says = a.says + ", " + style.name;
            o.kernel = r.o;
            judge_row(o, c, Planted::none, z, &tally_of(all, attention_profile(profile), contract), says);
            if (r.lse.empty() || style.unfused) continue;
            lse.kernel = r.lse;
            judge_row(lse, c, Planted::none, z, &tally_of(all, "lse", contract), says);
          }
        }
      }
    }
  return all;
}

namespace {

/// Split bugs need splits.
AttentionStyle style_of(AttentionBug b) {
  using B = AttentionBug;
  AttentionStyle s;
  s.tile = 32;
  if (b == B::lse_base2 || b == B::sink_per_split || b == B::partials_16bit || b == B::empty_split) s.splits = 3;
  return s;
}

}  // namespace

AttentionKills run_attention_bugs(const std::string& contract, int tiny, std::uint64_t seed, double z) {
  AttentionKills all{contract, {}, 0, 0, {}};
  const Contract c = parse_contract(contract);
  const ReadingScope scope({&c, false, z});
  Random random(seed);
  for (int b = 1; b <= kAttentionBugs; ++b) all.bugs.push_back({static_cast<AttentionBug>(b)});
  struct Trial {
    AttentionCase a;
    int tier;
  };
  std::vector<Trial> trials;
  for (AttentionCase& a : generic_attention(*c.in, random)) trials.push_back({a, 0});
  for (AttentionCase& a : structured_attention(*c.in, random)) trials.push_back({a, 1});
  for (int n = 0; n < tiny; ++n) trials.push_back({tiny_attention(*c.in, random), 2});
  for (const Trial& t : trials) {
    const SoftmaxMean<Bound> y = define_attention(t.a);
    Row o = row_of("o", *c.out, y.o);
    Floats honest;
    for (const AttentionStyle& s : attention_styles(c)) {
      o.kernel = attention_kernel(t.a, c, s, AttentionBug::none).o;
      const Judged j = judge_row(o, c, Planted::none, z, nullptr, "");
      ++all.honest;
      if (!j.element || !j.aggregate) {
        ++all.rejected;
        if (all.failures.size() < 5)
          all.failures.push_back(contract + ": " + t.a.says + ", " + s.name + ": " + std::to_string(j.largest) +
                                 " of what is allowed" + (j.aggregate ? "" : ", aggregate"));
      }
    }
    for (AttentionKill& k : all.bugs) {
      honest = attention_kernel(t.a, c, style_of(k.bug), AttentionBug::none).o;
      o.kernel = attention_kernel(t.a, c, style_of(k.bug), k.bug).o;
      ++k.trials;
      bool same = true;
      for (std::size_t i = 0; i < honest.size(); ++i)
        same = same && (honest[i] == o.kernel[i] || (std::isnan(honest[i]) && std::isnan(o.kernel[i])));
      if (same) continue;
      ++k.changed;
      const Judged j = judge_row(o, c, Planted::none, z, nullptr, "");
      k.largest = std::max(k.largest, j.largest);
      (t.tier == 0 ? k.generic : t.tier == 1 ? k.structured : k.tiny) += !j.element;
      if (j.element && !j.aggregate) ++(t.tier == 0 ? k.generic_aggregate : k.tiny_aggregate);
    }
  }
  return all;
}

}  // namespace assay::experiment
