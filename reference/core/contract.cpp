// Contracts from and to text, and the reading of a thread.
#include "reference/core/contract.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "reference/core/error.hpp"
#include "reference/core/readings/bound_model.hpp"

namespace assay {

namespace {

Contract base(const Format& in, const Format& acc, const Format& out) {
  Contract c;
  c.in = &in;
  c.acc = c.p = &acc;
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
        {"fp16_acc_fp16", base(fp16, fp16, fp16)}};
    for (auto& [name, c] : p) {
      if (name.ends_with("_rz")) c.kind = Accumulate::truncate;
      if (name.ends_with("_mma")) c.kind = Accumulate::mma;
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

void set_field(Contract& c, bool& cast_given, bool& p_given, std::string_view key, std::string_view value) {
  if (key == "in")
    c.in = &floating(key, value);
  else if (key == "acc")
    c.acc = &floating(key, value);
  else if (key == "out")
    c.out = &floating(key, value);
  else if (key == "cast")
    c.cast = &floating(key, value), cast_given = true;
  else if (key == "p")
    c.p = &floating(key, value), p_given = true;
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
  else if (key == "round")
    c.out_round = pick(kRounds, key, value);
  else
    throw Error("contract: field", "one of in, acc, out, p, cast, kind, order, exp, log, rsqrt, round",
                std::string(key));
}

}  // namespace

std::string Contract::spell() const {
  const Contract d;
  std::string s = "in=" + std::string(in->name) + " acc=" + std::string(acc->name);
  if (p != acc) s += " p=" + std::string(p->name);
  s += " out=" + std::string(out->name);
  if (cast != out) s += " cast=" + std::string(cast->name);
  if (kind == Accumulate::truncate) s += " kind=rz";
  if (kind == Accumulate::mma) s += " kind=mma(" + std::to_string(mma_f) + "," + std::to_string(mma_k0) + ")";
  if (order != d.order) s += " order=" + std::string(name_of(kOrders, order));
  if (exp_ulp != d.exp_ulp) s += " exp=" + shortest(exp_ulp);
  if (log_ulp != d.log_ulp) s += " log=" + shortest(log_ulp);
  if (rsqrt_ulp != d.rsqrt_ulp) s += " rsqrt=" + shortest(rsqrt_ulp);
  if (out_round != d.out_round) s += " round=" + std::string(name_of(kRounds, out_round));
  return s;
}

Contract parse_contract(std::string_view text) {
  Contract c = base(fp32, fp32, fp32);
  bool first = true, cast_given = false, p_given = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    const auto equals = word.find('=');
    if (equals != std::string_view::npos) {
      set_field(c, cast_given, p_given, word.substr(0, equals), word.substr(equals + 1));
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
    }
    first = false;
  }
  if (first) throw Error("contract", "a preset or fields like in=bf16 acc=fp32 out=bf16", "nothing");
  if (!cast_given) c.cast = c.out;
  if (!p_given) c.p = c.acc;
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

// The reading of a thread.

namespace {

struct Current {
  Reading reading;
  detail::BoundModel model{presets().front().second, Reading{}.z};
};

Current& current() {
  thread_local Current c;
  return c;
}

void set(const Reading& r) {
  current().reading = r;
  current().model = detail::BoundModel(r.contract ? *r.contract : presets().front().second, r.z);
}

}  // namespace

const Reading& reading() { return current().reading; }

const detail::BoundModel& detail::bound_model() { return current().model; }

detail::BoundModel::BoundModel(const Contract& c, double limit)
    : contract(&c),
      acc(c.acc),
      u(c.u()),
      variance(u * u / 3),
      exp_error(c.exp_ulp * 2 * u),
      log_error(c.log_ulp * 2 * u),
      rsqrt_error(c.rsqrt_ulp * 2 * u),
      min_normal(c.acc->min_normal()),
      half_step(c.acc->min_subnormal() / 2),
      max(c.acc->max_finite()),
      z(limit) {}

ReadingScope::ReadingScope(const Reading& r) : before_(current().reading) { set(r); }
ReadingScope::~ReadingScope() { set(before_); }

}  // namespace assay
