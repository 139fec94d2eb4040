#include "conformance/engine/call_file.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>

#include "reference/core/safetensors_convert.hpp"
#include "reference/core/safetensors_dtype.hpp"
#include "reference/core/sha256.hpp"

namespace assay {
namespace {

constexpr std::string_view input_prefix = "in.", output_prefix = "out.";
// No size and no tensor of a call that comes from outside is larger: a file of a few bytes may claim any size next to a
// zero.
constexpr Index largest = Index{1} << 30;

const std::string& metadata(const SafetensorsFile& file, const std::string& key, const std::string& origin) {
  const auto at = file.metadata.find(key);
  if (at != file.metadata.end()) return at->second;
  throw Error(origin + ": metadata", "key `" + key + "` (a file written by assay has it)", "none");
}

/// An option as a call has it: the index of a name, or a number.
double read_option(const OptionSpec& option, const std::string& text, const std::string& origin) {
  const std::string where = origin + ": option " + option.name;
  if (option.numeric()) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
      throw Error(where, "a finite number", printable(text));
    return value;
  }
  std::string names;
  for (std::size_t i = 0; i < option.names.size(); ++i) {
    if (option.names[i] == text) return static_cast<double>(i);
    names += (names.empty() ? "" : ", ") + option.names[i];
  }
  throw Error(where, "one of " + names, printable(text));
}

/// A tensor of the file as values of `format`; one that the format lacks is refused, not rounded.
Tensor<double> read_tensor(const RawTensor& raw, const Format& format, const std::string& origin) {
  Tensor<double> values = decode_tensor(raw);
  for (Index i = 0, n = values.size(); i < n; ++i) {
    const double v = values.at_flat(i);
    if (std::isnan(v) && format.has_nan()) continue;
    if (!std::isnan(v)) {
      const double kept = round_to(format, v, format.specials == Specials::scale ? Round::up : Round::nearest_even);
      if (kept == v && (std::signbit(kept) == std::signbit(v))) continue;
    }
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", v);
    throw Error(origin + ": tensor " + printable(raw.name) + " (" + raw.dtype + "), element " + std::to_string(i),
                "a value of " + std::string(format.name) + ", the contract's format (round before writing)", text);
  }
  return values;
}

void check_rank(const TensorSpec& spec, const RawTensor& raw, const std::string& origin) {
  std::string symbols;
  for (const std::string& s : spec.shape) symbols += (symbols.empty() ? "" : ", ") + s;
  if (raw.shape.size() != spec.shape.size())
    throw Error(origin + ": shape of tensor " + raw.name, "[" + symbols + "]", to_string(raw.shape));
}

/// Every tensor of the file under a prefix is one that the op has.
void refuse_unknown(const SafetensorsFile& file, const std::vector<TensorSpec>& specs, const Call& call,
                    std::string_view prefix, const std::string& origin) {
  for (const RawTensor& raw : file.tensors) {
    if (!raw.name.starts_with(prefix)) continue;
    bool known = false;
    std::string names;
    for (const TensorSpec& spec : specs) {
      if (!exists(spec, *call.op, call.options)) continue;
      known = known || raw.name == std::string(prefix) + spec.name;
      names += (names.empty() ? "" : ", ") + std::string(prefix) + spec.name;
    }
    if (!known) throw Error(origin + ": unknown tensor", names, printable(raw.name));
  }
}

void add_tensors(SafetensorsFile& file, const Tensors& tensors, std::string_view prefix) {
  for (const Named& t : tensors.all())
    file.tensors.push_back(encode_tensor(std::string(prefix) + t.name, file_dtype(*t.format), t.value));
}

}  // namespace

std::string file_dtype(const Format& format) {
  if (&format == &formats::boolean) return "BOOL";
  if (&format == &formats::int8) return "I8";
  if (&format == &formats::uint8) return "U8";
  if (&format == &formats::int32) return "I32";
  if (&format == &formats::int64) return "I64";
  for (const SafetensorsDtype& dtype : safetensors_dtypes()) {
    if (dtype.bits >= 8 && safetensors_format(dtype.name) == &format) return dtype.name;
  }
  return "F32";
}

SafetensorsFile call_to_file(const Call& call) {
  SafetensorsFile file;
  file.metadata["assay"] = "call 1";
  file.metadata["op"] = call.op->name;
  file.metadata["contract"] = call.contract.spell();
  for (std::size_t i = 0; i < call.op->options.size(); ++i)
    file.metadata["option." + call.op->options[i].name] = call.option_text(i);
  for (const TensorSpec& spec : call.op->outputs) {
    if (!exists(spec, *call.op, call.options)) continue;
    std::string text = file_dtype(format_of(spec, call.contract));
    for (const Index size : shape_of(spec, call)) text += " " + std::to_string(size);
    file.metadata["output." + spec.name] = text;
  }
  file.metadata["inputs"] = input_digest(call);
  add_tensors(file, call.inputs, input_prefix);
  return file;
}

void add_outputs(SafetensorsFile& file, const Tensors& outputs) { add_tensors(file, outputs, output_prefix); }

Call call_from_file(const SafetensorsFile& file, const std::string& origin) {
  const std::string& version = metadata(file, "assay", origin);
  if (version != "call 1") throw Error(origin + ": metadata key `assay`", "call 1", printable(version));
  Call call;
  const std::string& op = metadata(file, "op", origin);
  try {
    call.op = &page_of_op(op).op;
    call.contract = parse_contract(metadata(file, "contract", origin));
  } catch (const Error& e) {
    throw Error(origin + ": " + e.what());
  }
  for (const OptionSpec& option : call.op->options)
    call.options.push_back(read_option(option, metadata(file, "option." + option.name, origin), origin));
  refuse_unknown(file, call.op->inputs, call, input_prefix, origin);

  std::map<std::string, Index> sizes;
  for (const TensorSpec& spec : call.op->inputs) {
    if (!exists(spec, *call.op, call.options)) continue;
    const RawTensor& raw = file.at(std::string(input_prefix) + spec.name);
    check_rank(spec, raw, origin);
    for (std::size_t d = 0; d < raw.shape.size(); ++d) {
      const Index size = sizes.emplace(spec.shape[d], literal_size(spec.shape[d]).value_or(raw.shape[d])).first->second;
      if (raw.shape[d] != size || size > largest)
        throw Error(origin + ": size " + spec.shape[d] + " of tensor " + raw.name,
                    size > largest ? "at most 2^30" : std::to_string(size) + " as in the tensors before",
                    std::to_string(raw.shape[d]));
    }
    const Format& format = format_of(spec, call.contract);
    call.inputs.set(spec.name, read_tensor(raw, format, origin), &format);
  }
  for (const TensorSpec& spec : call.op->outputs) {
    if (!exists(spec, *call.op, call.options)) continue;
    const Shape shape = shape_of(spec, call);
    if (count(shape) > largest)
      throw Error(origin + ": output " + spec.name, "at most 2^30 elements", "shape " + to_string(shape));
  }
  return call;
}

Tensors outputs_from_file(const SafetensorsFile& file, const Call& call, const std::string& origin) {
  refuse_unknown(file, call.op->outputs, call, output_prefix, origin);
  Tensors outputs;
  std::string names;
  for (const TensorSpec& spec : call.op->outputs) {
    if (!exists(spec, *call.op, call.options)) continue;
    names += (names.empty() ? "" : ", ") + std::string(output_prefix) + spec.name;
    const RawTensor* raw = file.find(std::string(output_prefix) + spec.name);
    if (raw == nullptr) continue;
    const Shape shape = shape_of(spec, call);
    if (raw->shape != shape)
      throw Error(origin + ": shape of tensor " + raw->name, to_string(shape), to_string(raw->shape));
    const Format& format = format_of(spec, call.contract);
    outputs.set(spec.name, read_tensor(*raw, format, origin), &format);
  }
  if (outputs.all().empty()) throw Error(origin + ": no output", "at least one of " + names, "none");
  return outputs;
}

std::string input_digest(const Call& call) {
  SafetensorsFile file;
  add_tensors(file, call.inputs, input_prefix);
  return sha256_hex(serialize_safetensors(file));
}

}  // namespace assay
