#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>

#include "spec/compiler/compile.hpp"

namespace assay::spec {
namespace {

std::vector<Range> read_ranges(Reader& reader, const YAML::Node& node, const std::string& where, bool sizes) {
  std::vector<Range> list;
  for (const Entry& entry : reader.entries(node, where, true)) {
    const std::string here = where + "." + entry.name;
    if (!reader.is_sequence(entry.value, here)) continue;
    if (entry.value.size() != 2) {
      reader.mistake(entry.value, here, "expected [LOW, HIGH], found a list of " + std::to_string(entry.value.size()));
      continue;
    }
    const Range range{entry.name, reader.integer(entry.value[0], here), reader.integer(entry.value[1], here)};
    if (range.low > range.high) reader.mistake(entry.value, here, "expected LOW <= HIGH");
    if (sizes && range.low < 0) reader.mistake(entry.value, here, "expected sizes >= 0");
    list.push_back(range);
  }
  return list;
}

void read_products(Reader& reader, const YAML::Node& node, bool sums, std::vector<Product>& list) {
  const std::string where = sums ? "cases.sums" : "cases.products";
  for (const Entry& entry : reader.entries(node, where, true)) {
    const Product product{entry.name, reader.texts(entry.value, where + "." + entry.name), sums};
    if (product.of.size() < 2)
      reader.mistake(entry.value, where + "." + entry.name,
                     std::string("expected at least two sizes, as in ") + (sums ? "S: [past, n]" : "H: [Hkv, g]"));
    list.push_back(product);
  }
}

const Range* find(const std::vector<Range>& ranges, const std::string& name) {
  for (const Range& range : ranges)
    if (range.name == name) return &range;
  return nullptr;
}

// An option whose numbers can be sizes.
bool counts(const OpSpec& op, const std::string& name) {
  for (const OptionSpec& option : op.options)
    if (option.name == name)
      return option.numeric() && std::all_of(option.numbers.begin(), option.numbers.end(),
                                             [](double x) { return x >= 0 && x == static_cast<long long>(x); });
  return false;
}

bool parse(const std::string& text, long long& value) {
  const bool good = is_integer(text);
  if (good) value = std::stoll(text);
  return good;
}

std::string wrong_option(const OptionSpec& option, const std::string& value) {
  if (!option.numeric())
    return contains(option.names, value)
               ? ""
               : option.name + ": expected one of " + join(option.names, ", ") + ", found " + quoted(value);
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size())
    for (double known : option.numbers)
      if (known == number) return "";
  return option.name + ": expected one of the numbers of the option, found " + quoted(value);
}

// `mask_is=tail`: the values of one input. The input must be in the case.
std::string wrong_input_profile(const std::string& key, const std::string& value, const OpSpec& op,
                                const std::map<std::string, std::string>& corner) {
  for (const TensorSpec& input : op.inputs) {
    if (key != input.name + "_is") continue;
    if (!is_identifier(value, false)) return key + ": expected the name of a profile, found " + quoted(value);
    if (input.when_option.empty()) return "";
    for (const OptionSpec& option : op.options) {
      if (option.name != input.when_option) continue;
      const auto given = corner.find(option.name);
      if ((given == corner.end() ? option.names.front() : given->second) == input.when_value) return "";
    }
    return key + ": " + input.name + " is not in the case: it needs " + input.when_option + "=" + input.when_value;
  }
  return "unknown key " + quoted(key) +
         ": expected a size, an option, a parameter of `also`, profile, seed or INPUT_is";
}

}  // namespace

CaseSpec read_cases(Reader& reader, const YAML::Node& node) {
  CaseSpec cases;
  auto fields = reader.fields(node, "cases", keys_of("cases"));
  if (fields.count("sizes")) cases.sizes = read_ranges(reader, fields["sizes"], "cases.sizes", true);
  if (fields.count("products")) read_products(reader, fields["products"], false, cases.products);
  if (fields.count("sums")) read_products(reader, fields["sums"], true, cases.products);
  if (fields.count("also")) cases.also = read_ranges(reader, fields["also"], "cases.also", false);
  if (fields.count("corners")) cases.corners = reader.texts(fields["corners"], "cases.corners");
  if (fields.count("profiles") && reader.is_sequence(fields["profiles"], "cases.profiles"))
    for (const auto& item : fields["profiles"]) {
      const std::string name = reader.identifier(item, "cases.profiles");
      if (!name.empty() && !contains(value_profiles(), name))
        reader.mistake(item, "cases.profiles",
                       "unknown profile " + quoted(name) + ": expected one of " + join(value_profiles(), ", "));
      if (contains(cases.profiles, name))
        reader.mistake(item, "cases.profiles", "profile " + quoted(name) + " given twice");
      if (!name.empty()) cases.profiles.push_back(name);
    }
  return cases;
}

std::string wrong_in_corner(const std::string& corner, const CaseSpec& cases, const OpSpec& op) {
  std::map<std::string, std::string> given;
  std::istringstream words(corner);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == word.size())
      return "expected words KEY=VALUE, found " + quoted(word);
    if (!given.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      return word.substr(0, equals) + ": given twice";
  }
  if (given.empty()) return "expected words KEY=VALUE, found none";
  for (const auto& entry : given) {
    const std::string &key = entry.first, &value = entry.second;
    long long number = 0;
    std::string wrong;
    const OptionSpec* option = nullptr;
    for (const OptionSpec& one : op.options)
      if (one.name == key) option = &one;
    if (find(cases.sizes, key)) {
      if (!parse(value, number) || number < 0) wrong = key + ": expected a size >= 0, found " + quoted(value);
    } else if (find(cases.also, key)) {
      if (!parse(value, number)) wrong = key + ": expected an integer, found " + quoted(value);
    } else if (key == "seed") {
      if (!parse(value, number) || number < 0) wrong = key + ": expected an integer >= 0, found " + quoted(value);
    } else if (key == "profile") {
      if (!contains(cases.profiles, value))
        wrong = key + ": expected one of " + join(cases.profiles, ", ") + ", found " + quoted(value);
    } else if (option) {
      wrong = wrong_option(*option, value);
    } else {
      wrong = wrong_input_profile(key, value, op, given);
    }
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string wrong_in_names(const CaseSpec& cases, const OpSpec& op) {
  std::set<std::string> names = {"profile", "seed"};
  for (const TensorSpec& input : op.inputs) names.insert(input.name + "_is");
  Words all;
  for (const Range& range : cases.sizes) all.push_back(range.name);
  for (const Product& product : cases.products) all.push_back(product.name);
  for (const Range& range : cases.also) all.push_back(range.name);
  for (const OptionSpec& option : op.options) all.push_back(option.name);
  for (const std::string& name : all)
    if (!names.insert(name).second) return "the name " + quoted(name) + " stands for two things in a case";
  Words known;
  for (const Range& range : cases.sizes) known.push_back(range.name);
  for (const Product& product : cases.products) {
    for (const std::string& factor : product.of)
      if (!contains(known, factor) && !counts(op, factor) && !(is_integer(factor) && factor[0] != '-'))
        return (product.sum ? "part " : "factor ") + quoted(factor) + (product.sum ? " of sum " : " of product ") +
               quoted(product.name) + " is not in cases.sizes, nor an option of whole numbers, nor a number";
    known.push_back(product.name);
  }
  for (const TensorSpec& input : op.inputs)
    for (std::size_t i = 0; i < (input.fill == "page_table" ? 2 : input.fill_of.size()); ++i)
      if (!contains(known, input.fill_of[i]))
        return "size " + quoted(input.fill_of[i]) + " of the fill of " + quoted(input.name) + " is not in cases.sizes";
  for (const auto* tensors : {&op.inputs, &op.outputs})
    for (const TensorSpec& tensor : *tensors)
      for (const std::string& size : tensor.shape)
        if (is_identifier(size, true) && !contains(known, size))
          return "size " + quoted(size) + " of tensor " + quoted(tensor.name) + " is not in cases.sizes";
  return "";
}

}  // namespace assay::spec
