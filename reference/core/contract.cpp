// Contracts from and to text.
#include "reference/core/contract.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "reference/core/error.hpp"

namespace assay {

namespace {

Contract base(const Format& in, const Format& acc, const Format& out) {
  Contract c;
  c.in = &in;
  c.acc = c.p = c.s = c.partial = &acc;
  c.out = c.cast = &out;
  return c;
}

using namespace formats;

const std::vector<std::pair<std::string, Contract>>& presets() {
  static const auto all = [] {
    std::vector<std::pair<std::string, Contract>> p{
        {"fp64", base(fp64, fp64, fp64)},          {"fp32", base(fp32, fp32, fp32)},
        {"fp16", base(fp16, fp32, fp16)},          {"bf16", base(bf16, fp32, bf16)},
        {"tf32", base(tf32, fp32, fp32)},          {"fp16_out_fp32", base(fp16, fp32, fp32)},
        {"bf16_out_fp32", base(bf16, fp32, fp32)}, {"fp16_rz", base(fp16, fp32, fp32)},
        {"fp16_mma", base(fp16, fp32, fp32)},      {"bf16_mma", base(bf16, fp32, fp32)},
        {"fp16_acc_fp16", base(fp16, fp16, fp16)}, {"flash_bf16", base(bf16, fp32, bf16)},
        {"flash_fp16", base(fp16, fp32, fp16)}};
    for (auto& [name, c] : p) {
      if (name.ends_with("_rz")) c.kind = Accumulate::truncate;
      if (name.ends_with("_mma")) c.kind = Accumulate::mma;
      // A FlashAttention-style kernel: unnormalised P in the inputs' format, exponents as fma(s, c, -m c).
      if (name.starts_with("flash_")) c.p = c.in, c.exponent = Exponent::fma;
    }
    return p;
  }();
  return all;
}

constexpr std::pair<std::string_view, Order> kOrders[] = {
    {"contiguous", Order::contiguous}, {"oblivious", Order::oblivious}, {"any", Order::any}};
constexpr std::pair<std::string_view, Round> kRounds[] = {{"rn", Round::nearest_even},
                                                          {"rna", Round::nearest_away},
                                                          {"rz", Round::toward_zero},
                                                          {"ru", Round::up},
                                                          {"rd", Round::down}};

constexpr std::pair<std::string_view, PScale> kPScales[] = {{"unnormalised", PScale::unnormalised},
                                                            {"normalised", PScale::normalised}};
constexpr std::pair<std::string_view, RowSum> kRowSums[] = {{"unrounded", RowSum::unrounded},
                                                            {"rounded", RowSum::rounded}};
constexpr std::pair<std::string_view, Exponent> kExponents[] = {{"difference", Exponent::difference},
                                                                {"fma", Exponent::fma}};

template <class V, std::size_t N>
V pick(const std::pair<std::string_view, V> (&table)[N], std::string_view key, std::string_view value) {
  std::string names;
  for (const auto& [name, v] : table) {
    if (name == value) return v;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw Error("contract: field " + std::string(key), "one of " + names, std::string(value));
}

template <class V, std::size_t N>
std::string_view name_of(const std::pair<std::string_view, V> (&table)[N], V value) {
  for (const auto& [name, v] : table)
    if (v == value) return name;
  throw Error("contract: a value without a name");
}

double number(std::string_view key, std::string_view text) {
  double v = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size() || !(v >= 0 && v <= 1e6))
    throw Error("contract: field " + std::string(key), "a number of ulps from 0 to 1e6", std::string(text));
  return v;
}

int keys(std::string_view key, std::string_view text) {
  int v = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size() || v < 1)
    throw Error("contract: field " + std::string(key), "a whole number from 1", std::string(text));
  return v;
}

const Format& floating(std::string_view key, std::string_view value) {
  const Format& f = format(value);
  if (key == "acc" && f.name != "int32" && (f.fixed_point() || f.sign_bits == 0))
    throw Error("contract: field acc", "a signed floating-point format, or int32", std::string(value));
  return f;
}

/// "rn", "rz", "mma(F,K0)".
void accumulate_kind(Contract& c, std::string_view value) {
  if (value == "rn" || value == "rz") {
    c.kind = value == "rn" ? Accumulate::nearest : Accumulate::truncate;
    return;
  }
  const auto comma = value.find(',');
  int f = 0, k0 = 0;
  const auto whole = [](std::string_view s, int& v) {
    const auto r = std::from_chars(s.data(), s.data() + s.size(), v);
    return r.ec == std::errc() && r.ptr == s.data() + s.size();
  };
  if (!value.starts_with("mma(") || !value.ends_with(")") || comma == std::string_view::npos ||
      !whole(value.substr(4, comma - 4), f) || !whole(value.substr(comma + 1, value.size() - comma - 2), k0) || f < 4 ||
      f > 52 || k0 < 1 || k0 > 1024)
    throw Error("contract: field kind", "rn, rz or mma(F,K0) with F in 4..52 and K0 in 1..1024", std::string(value));
  c.kind = Accumulate::mma;
  c.mma_f = f;
  c.mma_k0 = k0;
}

std::string shortest(double v) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, v).ptr);
}

/// Which formats were spelled; the others follow acc and out.
struct Given {
  bool cast = false, p = false, s = false, partial = false;
};

void set_field(Contract& c, Given& given, std::string_view key, std::string_view value) {
  if (key == "in")
    c.in = &floating(key, value);
  else if (key == "acc")
    c.acc = &floating(key, value);
  else if (key == "out")
    c.out = &floating(key, value);
  else if (key == "cast")
    c.cast = &floating(key, value), given.cast = true;
  else if (key == "p")
    c.p = &floating(key, value), given.p = true;
  else if (key == "s")
    c.s = &floating(key, value), given.s = true;
  else if (key == "partial")
    c.partial = &floating(key, value), given.partial = true;
  else if (key == "kind")
    accumulate_kind(c, value);
  else if (key == "order")
    c.order = pick(kOrders, key, value);
  else if (key == "exp")
    c.exp_ulp = number(key, value);
  else if (key == "log")
    c.log_ulp = number(key, value);
  else if (key == "rsqrt")
    c.rsqrt_ulp = number(key, value);
  else if (key == "tanh")
    c.tanh_ulp = number(key, value);
  else if (key == "round")
    c.out_round = pick(kRounds, key, value);
  else if (key == "p_scale")
    c.p_scale = pick(kPScales, key, value);
  else if (key == "l")
    c.l = pick(kRowSums, key, value);
  else if (key == "exponent")
    c.exponent = pick(kExponents, key, value);
  else if (key == "tile")
    c.tile = keys(key, value);
  else if (key == "splits")
    c.splits = keys(key, value);
  else if (key == "split_min")
    c.split_min = keys(key, value);
  else
    throw Error(
        "contract: field",
        "one of in, acc, out, p, s, partial, cast, kind, order, exp, log, rsqrt, tanh, round, p_scale, l, exponent, "
        "tile, splits, split_min",
        std::string(key));
}

}  // namespace

std::string Contract::spell() const {
  const Contract d;
  std::string text = "in=" + std::string(in->name) + " acc=" + std::string(acc->name);
  if (p != acc) text += " p=" + std::string(p->name);
  if (s != acc) text += " s=" + std::string(s->name);
  if (partial != acc) text += " partial=" + std::string(partial->name);
  text += " out=" + std::string(out->name);
  if (cast != out) text += " cast=" + std::string(cast->name);
  if (kind == Accumulate::truncate) text += " kind=rz";
  if (kind == Accumulate::mma) text += " kind=mma(" + std::to_string(mma_f) + "," + std::to_string(mma_k0) + ")";
  if (order != d.order) text += " order=" + std::string(name_of(kOrders, order));
  if (exp_ulp != d.exp_ulp) text += " exp=" + shortest(exp_ulp);
  if (log_ulp != d.log_ulp) text += " log=" + shortest(log_ulp);
  if (rsqrt_ulp != d.rsqrt_ulp) text += " rsqrt=" + shortest(rsqrt_ulp);
  if (tanh_ulp != d.tanh_ulp) text += " tanh=" + shortest(tanh_ulp);
  if (out_round != d.out_round) text += " round=" + std::string(name_of(kRounds, out_round));
  if (p_scale != d.p_scale) text += " p_scale=" + std::string(name_of(kPScales, p_scale));
  if (l != d.l) text += " l=" + std::string(name_of(kRowSums, l));
  if (exponent != d.exponent) text += " exponent=" + std::string(name_of(kExponents, exponent));
  if (tile != d.tile) text += " tile=" + std::to_string(tile);
  if (splits != d.splits) text += " splits=" + std::to_string(splits);
  if (split_min != d.split_min) text += " split_min=" + std::to_string(split_min);
  return text;
}

Contract parse_contract(std::string_view text) {
  Contract c = base(fp32, fp32, fp32);
  bool first = true, preset_p = false;  // whether the preset itself says what p is stored in
  Given given;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const auto equals = word.find('=');
    if (equals != std::string_view::npos) {
      set_field(c, given, word.substr(0, equals), word.substr(equals + 1));
    } else {
      const Contract* found = nullptr;
      std::string names;
      for (const auto& [name, preset] : presets()) {
        if (name == word) found = &preset;
        names += (names.empty() ? "" : ", ") + name;
      }
      if (!found || !first)
        throw Error("contract",
                    first ? "a preset (" + names + ") or fields like in=bf16" : "field=value after the first word",
                    std::string(word));
      c = *found;
      preset_p = c.p != c.acc;
    }
    first = false;
  }
  if (first) throw Error("contract", "a preset or fields like in=bf16 acc=fp32 out=bf16", "nothing");
  if (!given.cast) c.cast = c.out;
  if (!given.p && !preset_p) c.p = c.acc;
  if (!given.s) c.s = c.acc;
  if (!given.partial) c.partial = c.acc;
  // A normalised p is divided by a sum that was complete before anything could be rounded.
  if (c.p_scale == PScale::normalised && c.l == RowSum::rounded)
    throw Error("contract: field l", "unrounded, where p_scale=normalised divides by l before p is rounded", "rounded");
  return c;
}

const std::vector<std::string>& contract_presets() {
  static const auto names = [] {
    std::vector<std::string> n;
    for (const auto& [name, preset] : presets()) n.push_back(name);
    return n;
  }();
  return names;
}

}  // namespace assay
