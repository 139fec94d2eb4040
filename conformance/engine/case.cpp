#include "conformance/engine/case.hpp"

#include <algorithm>
#include <charconv>

#include "conformance/engine/call.hpp"
#include "reference/core/error.hpp"

namespace assay {
namespace {

constexpr std::int64_t seed_count = 1 << 20;
/// Cases are drawn from the sizes of their page; who spells one may go further, as far as a target's tiles need.
constexpr std::int64_t largest_size = 1 << 16;

std::int64_t highest(const Axis& axis) {
  return axis.kind == Axis::Kind::size ? std::max(axis.high, largest_size) : axis.high;
}

std::string join(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& w : words) all += (all.empty() ? "" : ", ") + w;
  return all;
}

std::int64_t read_value(const Axis& axis, std::string_view text) {
  if (!axis.names.empty()) {
    const auto at = std::find(axis.names.begin(), axis.names.end(), text);
    if (at == axis.names.end()) throw Error("case: no such value of " + axis.name, join(axis.names), std::string(text));
    return at - axis.names.begin();
  }
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || value < axis.low || value > highest(axis)) {
    throw Error("case: bad value of " + axis.name, std::to_string(axis.low) + ".." + std::to_string(highest(axis)),
                std::string(text));
  }
  return value;
}

}  // namespace

const std::vector<std::string>& patterns_of(const TensorSpec& input) {
  static const std::vector<std::string> mask = {"random", "full", "empty_rows", "head", "tail", "single"},
                                        lengths = {"random", "full", "zero", "some_zero", "whole"},
                                        page_table = {"scattered", "in_order", "shared"},
                                        cu_seqlens = {"random", "even", "first", "last"}, none;
  if (input.dtype == "bool") return mask;
  if (input.fill == "lengths") return lengths;
  if (input.fill == "page_table") return page_table;
  return input.fill == "cu_seqlens" ? cu_seqlens : none;
}

namespace {
const OpSpec no_op;
}

Space::Space(const Page& page) : page_(&page), op_(nullptr) {
  if (page.has_op)
    op_ = &page.op;
  else if (!page.uses.empty())
    op_ = &page_of_op(page.uses).op;
  else
    op_ = &no_op;  // its claims run programs
  for (const Range& r : page.cases.sizes) {
    axes_.push_back({r.name, Axis::Kind::size, r.low, r.high, std::clamp<std::int64_t>(3, r.low, r.high), {}});
  }
  for (const OptionSpec& o : op_->options) {
    Axis axis{o.name, Axis::Kind::option, 0, o.count() - 1, 0, o.names};
    for (double x : o.numbers) axis.names.push_back(spell_number(x));
    axes_.push_back(axis);
  }
  for (const Range& r : page.cases.also) {
    axes_.push_back({r.name, Axis::Kind::also, r.low, r.high, std::clamp<std::int64_t>(0, r.low, r.high), {}});
  }
  for (const TensorSpec& t : op_->inputs) {
    const auto& patterns = patterns_of(t);
    if (patterns.empty()) continue;
    axes_.push_back(
        {t.name + "_is", Axis::Kind::pattern, 0, static_cast<std::int64_t>(patterns.size()) - 1, 0, patterns});
  }
  const auto& profiles = page.cases.profiles;
  if (!profiles.empty())
    axes_.push_back({"profile", Axis::Kind::profile, 0, static_cast<std::int64_t>(profiles.size()) - 1, 0, profiles});
  axes_.push_back({"seed", Axis::Kind::seed, 0, seed_count - 1, 0, {}});
}

std::size_t Space::find(std::string_view name) const {
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].name == name) return i;
  }
  std::vector<std::string> names;
  for (const Axis& a : axes_) names.push_back(a.name);
  throw Error("case: no such axis of " + page_->id, join(names), std::string(name));
}

Case::Case(const Space& space) : space_(&space) {
  for (const Axis& a : space.axes()) values_.push_back(a.standard);
}

Case::Case(const Space& space, std::vector<std::int64_t> values) : space_(&space), values_(std::move(values)) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Axis& a = space.axes()[i];
    if (values_[i] < a.low || values_[i] > highest(a)) {
      throw Error("case: value out of range for " + a.name, std::to_string(a.low) + ".." + std::to_string(highest(a)),
                  std::to_string(values_[i]));
    }
  }
}

Case Case::parse(const Space& space, std::string_view text) {
  Case c(space);
  std::vector<bool> seen(space.axes().size(), false);
  while (true) {
    const auto start = text.find_first_not_of(" \t");
    if (start == std::string_view::npos) break;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, std::min(text.find_first_of(" \t"), text.size()));
    text.remove_prefix(word.size());
    const auto equals = word.find('=');
    if (equals == std::string_view::npos) throw Error("case: cannot read a word", "axis=value", std::string(word));
    const std::size_t at = space.find(word.substr(0, equals));
    if (seen[at]) throw Error("case: an axis is given twice", "each axis once", std::string(word));
    seen[at] = true;
    c.values_[at] = read_value(space.axes()[at], word.substr(equals + 1));
  }
  return c;
}

std::string Case::spell() const {
  std::string s;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Axis& a = space_->axes()[i];
    if (values_[i] == a.standard && a.kind != Axis::Kind::size) continue;
    s += (s.empty() ? "" : " ") + a.name + "=" +
         (a.names.empty() ? std::to_string(values_[i]) : a.names[static_cast<std::size_t>(values_[i])]);
  }
  return s;
}

std::string Case::spell_options() const {
  std::string s;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Axis& a = space_->axes()[i];
    if (a.kind != Axis::Kind::option || values_[i] == a.standard) continue;
    s += (s.empty() ? "" : " ") + a.name + "=" + a.names[static_cast<std::size_t>(values_[i])];
  }
  return s;
}

std::int64_t Case::factor(const std::string& name) const {
  if (name.find_first_not_of("0123456789") == std::string::npos) return std::stoll(name);
  const std::int64_t value = (*this)[name];
  for (const OptionSpec& o : space_->op().options) {
    if (o.name == name) return static_cast<std::int64_t>(o.numbers[static_cast<std::size_t>(value)]);
  }
  return value;
}

std::int64_t Case::operator[](std::string_view axis) const {
  for (const Product& product : space_->page().cases.products) {
    if (product.name != axis) continue;
    std::int64_t value = product.sum ? 0 : 1;
    for (const std::string& part : product.of) value = product.sum ? value + factor(part) : value * factor(part);
    return value;
  }
  return values_[space_->find(axis)];
}

const std::string& Case::name_of(std::string_view axis) const {
  const std::size_t i = space_->find(axis);
  return space_->axes()[i].names[static_cast<std::size_t>(values_[i])];
}

void Case::set(std::string_view axis, std::int64_t value) {
  std::vector<std::int64_t> values = values_;
  values[space_->find(axis)] = value;
  *this = Case(*space_, std::move(values));
}

}  // namespace assay
