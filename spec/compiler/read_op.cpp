#include <set>

#include "spec/compiler/compile.hpp"

namespace assay::spec {
namespace {

std::vector<std::string> read_shape(Reader& reader, const YAML::Node& node, const std::string& where) {
  std::vector<std::string> shape;
  if (!reader.is_sequence(node, where)) return shape;
  for (const auto& item : node) {
    const std::string word = item.IsScalar() ? item.Scalar() : "";
    if (is_identifier(word, true))
      shape.push_back(reader.identifier(item, where, true));
    else
      shape.push_back(std::to_string(reader.integer(item, where)));
  }
  return shape;
}

void read_when(Reader& reader, const YAML::Node& node, const std::string& where, const std::vector<OptionSpec>& options,
               TensorSpec& tensor) {
  const std::vector<Entry> entries = reader.entries(node, where);
  if (entries.size() != 1) {
    reader.mistake(node, where, "expected one condition {OPTION: VALUE}, found " + std::to_string(entries.size()));
    return;
  }
  const Entry& entry = entries.front();
  Words names;
  for (const OptionSpec& option : options) {
    if (!option.numeric()) names.push_back(option.name);
    if (option.name != entry.name || option.numeric()) continue;
    tensor.when_option = entry.name;
    tensor.when_value = reader.one_of(entry.value, where + "." + entry.name, option.names);
    return;
  }
  reader.mistake(
      entry.key, where,
      "expected an option of the op that has values (" + join(names, ", ") + "), found " + quoted(entry.name));
}

/// `fill: { page_table: [Npages, P, lens] }`: what the integers of an input mean.
void read_fill(Reader& reader, const YAML::Node& node, const std::string& where, const std::vector<TensorSpec>& earlier,
               TensorSpec& tensor) {
  const std::vector<Entry> entries = reader.entries(node, where);
  if (entries.size() != 1 || !contains(index_fills(), entries.front().name)) {
    reader.mistake(node, where, "expected one of " + join(index_fills(), ", ") + " with what it depends on");
    return;
  }
  const Entry& entry = entries.front();
  tensor.fill = entry.name;
  tensor.fill_of = reader.texts(entry.value, where + "." + entry.name);
  const std::size_t count = tensor.fill_of.size();
  if (tensor.dtype != "int32" && tensor.dtype != "int64")
    reader.mistake(node, where, "only a tensor of int32 or int64 has a fill, found " + quoted(tensor.dtype));
  if (entry.name == "page_table") {
    Words names;
    for (const TensorSpec& other : earlier)
      if (other.fill == "lengths") names.push_back(other.name);
    if (count != 3 || !contains(names, tensor.fill_of[2]) || tensor.shape.size() != 2)
      reader.mistake(
          entry.value, where,
          "expected a tensor of rank 2 and [PAGES, SLOTS_OF_A_PAGE, LENGTHS]: two sizes and an earlier input "
          "with fill lengths (" +
              join(names, ", ") + ")");
  } else if (tensor.shape.size() != 1 || count == 0 || (entry.name == "cu_seqlens" && count != 1)) {
    reader.mistake(entry.value, where,
                   entry.name == "lengths"
                       ? "expected a tensor of rank 1 and the sizes whose product is the largest length"
                       : "expected a tensor of rank 1, one longer than there are sequences, and the size it ends with");
  }
}

std::vector<TensorSpec> read_tensors(Reader& reader, const YAML::Node& node, const std::string& where,
                                     const std::vector<OptionSpec>& options, bool input) {
  std::vector<TensorSpec> list;
  for (const Entry& entry : reader.entries(node, where, true)) {
    const std::string here = where + "." + entry.name;
    if (is_reserved(entry.name)) reader.mistake(entry.key, here, "a tensor's name may not be a word of C++");
    auto fields = reader.fields(entry.value, here, keys_of(input ? "input" : "output"));
    TensorSpec tensor;
    tensor.name = entry.name;
    tensor.dtype = input ? "in" : "out";
    if (fields.count("shape")) tensor.shape = read_shape(reader, fields["shape"], here + ".shape");
    if (fields.count("says")) tensor.says = reader.text(fields["says"], here + ".says");
    if (fields.count("dtype")) tensor.dtype = reader.one_of(fields["dtype"], here + ".dtype", tensor_types());
    if (fields.count("when")) read_when(reader, fields["when"], here + ".when", options, tensor);
    if (fields.count("decision")) {
      tensor.decision = reader.one_of(fields["decision"], here + ".decision", decision_rules());
      if (tensor.dtype.find("int") == std::string::npos)
        reader.mistake(fields["decision"], here + ".decision",
                       "expected a fixed integer dtype beside it (int32): a decision is indices, found dtype " +
                           quoted(tensor.dtype));
      if (tensor.shape.size() != 2)
        reader.mistake(fields["decision"], here + ".decision",
                       "expected a shape [rows, k]: k indices in each row, found " +
                           std::to_string(tensor.shape.size()) + " sizes");
    }
    if (fields.count("fill")) read_fill(reader, fields["fill"], here + ".fill", list, tensor);
    list.push_back(tensor);
  }
  if (list.empty()) reader.mistake(node, where, "expected at least one tensor, found none");
  return list;
}

void read_option_values(Reader& reader, const YAML::Node& node, const std::string& where, OptionSpec& option) {
  if (!reader.is_sequence(node, where)) return;
  for (const auto& item : node) {
    const std::string name = reader.identifier(item, where);
    if (contains(option.names, name)) reader.mistake(item, where, "value " + quoted(name) + " given twice");
    if (!name.empty()) option.names.push_back(name);
  }
  if (node.size() == 0) reader.mistake(node, where, "expected at least one value, found none");
}

void read_option_numbers(Reader& reader, const YAML::Node& node, const std::string& where, OptionSpec& option) {
  if (!reader.is_sequence(node, where)) return;
  for (const auto& item : node) {
    const double number = reader.number(item, where);
    for (double other : option.numbers)
      if (other == number) reader.mistake(item, where, "number " + item.Scalar() + " given twice");
    option.numbers.push_back(number);
  }
  if (node.size() == 0) reader.mistake(node, where, "expected at least one number, found none");
}

std::vector<OptionSpec> read_options(Reader& reader, const YAML::Node& node) {
  std::vector<OptionSpec> list;
  for (const Entry& entry : reader.entries(node, "op.options")) {
    const std::string here = "op.options." + entry.name;
    if (is_reserved(entry.name) || entry.name == "from" || entry.name == "values")
      reader.mistake(entry.key, here, "an option's name may not be a word of C++, `from` or `values`");
    auto fields = reader.fields(entry.value, here, keys_of("option"));
    OptionSpec option;
    option.name = entry.name;
    if (fields.count("says")) option.says = reader.text(fields["says"], here + ".says");
    if (fields.count("values") + fields.count("numbers") != 1)
      reader.mistake(entry.value, here, "expected either `values` or `numbers`");
    else if (fields.count("values"))
      read_option_values(reader, fields["values"], here + ".values", option);
    else
      read_option_numbers(reader, fields["numbers"], here + ".numbers", option);
    list.push_back(option);
  }
  return list;
}

}  // namespace

OpSpec read_op(Reader& reader, const YAML::Node& node) {
  OpSpec op;
  auto fields = reader.fields(node, "op", keys_of("op"));
  if (fields.count("name")) op.name = reader.identifier(fields["name"], "op.name");
  if (fields.count("options")) op.options = read_options(reader, fields["options"]);
  if (fields.count("inputs")) op.inputs = read_tensors(reader, fields["inputs"], "op.inputs", op.options, true);
  if (fields.count("outputs")) op.outputs = read_tensors(reader, fields["outputs"], "op.outputs", op.options, false);
  std::set<std::string> names;
  for (const TensorSpec& tensor : op.inputs) names.insert(tensor.name);
  for (const TensorSpec& tensor : op.outputs)
    if (names.count(tensor.name))
      reader.mistake(fields["outputs"], "op.outputs." + tensor.name, "an input of the op has this name");
  if (fields.count("judged_by")) {
    op.validated = reader.one_of(fields["judged_by"], "op.judged_by", {"sigma", "worst_case"}) == "sigma";
  }
  if (fields.count("rows")) {
    op.rows = reader.identifier(fields["rows"], "op.rows", true);
    Words sizes;
    for (const TensorSpec& tensor : op.inputs)
      for (const std::string& size : tensor.shape)
        if (!contains(sizes, size)) sizes.push_back(size);
    if (!op.rows.empty() && !contains(sizes, op.rows))
      reader.mistake(fields["rows"], "op.rows",
                     "expected a size of an input (" + join(sizes, ", ") + "), found " + quoted(op.rows));
  }
  return op;
}

}  // namespace assay::spec
