#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conformance/engine/claim.hpp"
#include "conformance/engine/failure_text.hpp"
#include "conformance/engine/fill.hpp"
#include "conformance/engine/frequencies.hpp"
#include "reference/core/choice.hpp"
#include "reference/core/philox.hpp"

namespace assay {
namespace {

bool same(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

/// Whether two exact sides could be the same number: both NaN, both the same infinity, or within both worst cases.
bool may_equal(const Bound& x, const Bound& y) {
  if (std::isnan(x.v) || std::isnan(y.v)) return std::isnan(x.v) && std::isnan(y.v);
  if (std::isinf(x.v) || std::isinf(y.v)) return x.v == y.v;
  return std::fabs(x.v - y.v) <= x.w + y.w;
}

/// A byte that is the poison may have been written: a code has every value. It was not if under the other poison it is
/// the other one.
bool keeps_poison(Target& target, const Call& call, Layout layout, const Answer& first, const std::string& name) {
  layout.other_poison = !layout.other_poison;
  const Answer second = target.run(call, layout);
  if (second.kind != Answer::Kind::ok) return true;
  const Tensor<double>&x = first.outputs[name], &y = second.outputs[name];
  for (Index i = 0, n = x.size(); i < n; ++i)
    if (!same(x.at_flat(i), y.at_flat(i))) return true;
  return false;
}

}  // namespace

Check& Check::with(std::string_view axis, std::string_view name) {
  const auto& names = c.space().axes()[c.space().find(axis)].names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return with(axis, static_cast<std::int64_t>(i));
  }
  throw Error("a property asks for a value that the axis does not have", std::string(axis), std::string(name));
}

Call Check::call() const { return make_call(c, contract_); }

const Call& Check::kept_call() const {
  if (!kept_) kept_ = std::make_shared<Call>(call());
  return *kept_;
}

Target& Check::asked_target() const {
  if (target_ == nullptr)
    throw Error("a claim on: definition asks for the target", "on: target on its page, or check.define(call)");
  return *target_;
}

std::int64_t Check::pick(std::string_view name, std::int64_t low, std::int64_t high) const {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char ch : name) hash = (hash ^ static_cast<unsigned char>(ch)) * 16777619U;
  const auto seed = static_cast<std::uint64_t>(c["seed"]);
  const auto words =
      philox4x32({hash, 0, 0, 0x7069636bU}, {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return low + static_cast<std::int64_t>(words[0] % static_cast<std::uint64_t>(high - low + 1));
}

Tensors Check::run(const Call& call, const Layout& layout) {
  Answer answer = target().run(call, layout);
  if (answer.kind == Answer::Kind::unsupported) throw NotOffered{answer.message};
  if (answer.kind != Answer::Kind::ok) fail({answer.message, "", "a result", "none", ""});
  for (const std::string& name : answer.unwritten) {
    if (answer.outputs.find(name).format->bits <= 8 && !keeps_poison(target(), call, layout, answer, name)) continue;
    fail({"the output was not fully written", "output " + name, "every element written",
          "the poison it held before the call", ""});
  }
  last_ = {call, answer.outputs};
  sent_ = answer.sent;
  return answer.outputs;
}

const std::vector<std::int64_t>& Check::sent() const {
  if (sent_.empty()) throw NotOffered{"counting what is sent"};
  return sent_;
}

std::string Check::refusal(const Call& call) {
  const Answer answer = target().run(call, {});
  ++compared_;
  if (answer.kind == Answer::Kind::broken) fail({answer.message, "", "an error text", "none", ""});
  return answer.kind == Answer::Kind::ok ? "" : answer.message.empty() ? "(no text)" : answer.message;
}

bool Check::offers(const std::string& output) const { return asked_target().offers_output(c.space().op(), output); }

void Check::need(const std::string& output) {
  if (!offers(output)) throw NotOffered{"output " + output};
}

void Check::agree(const std::string& what, const Bound& left, const Bound& right) {
  ++compared_;
  if (may_equal(left, right)) return;
  fail({what, "", number(right.v), number(left.v), fmt::format("{:.3g}", left.w + right.w)});
}

void Check::agree(const std::string& what, const Tensor<Bound>& left, const Tensor<Bound>& right) {
  if (left.shape() != right.shape())
    fail({what + ": shapes differ", "", to_string(right.shape()), to_string(left.shape()), ""});
  if (left.size() == 0) ++compared_;
  for (Index i = 0, n = left.size(); i < n; ++i) {
    const Bound &x = left.at_flat(i), &y = right.at_flat(i);
    ++compared_;
    if (!may_equal(x, y))
      fail({what, "at " + index_text(left.shape(), i), number(y.v), number(x.v), fmt::format("{:.3g}", x.w + y.w)});
  }
}

void Check::differ(const std::string& what, const Tensor<Bound>& left, const Tensor<Bound>& right) {
  ++compared_;
  if (left.shape() != right.shape()) return;
  for (Index i = 0, n = left.size(); i < n; ++i) {
    if (!may_equal(left.at_flat(i), right.at_flat(i))) return;
  }
  fail({what + ": the two sides cannot be told apart", "", "a difference beyond both worst cases", "none", ""});
}

void Check::same_bits(const std::string& what, double left, double right) {
  ++compared_;
  if (!same(left, right)) fail({what, "", number(right), number(left), "the same bits"});
}

void Check::same_bits(const std::string& what, const Tensor<double>& left, const Tensor<double>& right) {
  if (left.shape() != right.shape())
    fail({what + ": shapes differ", "", to_string(right.shape()), to_string(left.shape()), ""});
  if (left.size() == 0) ++compared_;
  for (Index i = 0, n = left.size(); i < n; ++i) {
    ++compared_;
    if (!same(left.at_flat(i), right.at_flat(i))) {
      fail({what, "at " + index_text(left.shape(), i), number(right.at_flat(i)), number(left.at_flat(i)),
            "the same bits"});
    }
  }
}

void Check::admissible(const std::string& what, const Vector<Bound>& scores, const std::vector<Index>& chosen) {
  ++compared_;
  const std::string why = inadmissible_top_k(scores, chosen);
  if (!why.empty()) fail({what + ": " + why, "", "", "", ""});
}

void Check::frequencies(const std::string& what, const std::vector<long long>& counts, const Vector<Bound>& law) {
  compared_ += law.size();
  if (std::all_of(counts.begin(), counts.end(), [](long long n) { return n == 0; }))
    fail({what + ": no draw was made", "", "at least one", "none", ""});
  const Frequency f = rarest_frequency(law, counts);
  if (!f.refused()) return;
  const std::string how = f.high == 0   ? "drawn although its probability is 0"
                          : f.too_often ? "drawn too often"
                                        : "drawn too rarely";
  fail({what + ": " + how, fmt::format("symbol {}, {} draws", f.symbol, f.draws),
        f.low == f.high ? fmt::format("probability {}", f.low) : fmt::format("probability {} to {}", f.low, f.high),
        fmt::format("{} times, {:.4g} of the draws", f.count,
                    static_cast<double>(f.count) / static_cast<double>(f.draws)),
        fmt::format("counts of tail probability {:.2g} and more, found {:.2g}", f.needed, f.tail)});
}

void Check::at_most(const std::string& what, double value, double limit) {
  ++compared_;
  if (!(value <= limit)) fail({what, "", "at most " + number(limit), number(value), ""});
}

void Check::require(bool holds, const std::string& what) {
  ++compared_;
  if (!holds) fail({what, "", "", "", ""});
}

void Check::require(bool holds, const std::string& what, double got) {
  ++compared_;
  if (!holds) fail({what, "", "", number(got), ""});
}

void Check::fail(const Failure& failure) { throw failure; }

}  // namespace assay
