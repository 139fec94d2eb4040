#include "vectors/vector.hpp"

#include <cmath>
#include <set>
#include <utility>

#include "conformance/engine/call_file.hpp"
#include "conformance/engine/eval.hpp"
#include "conformance/engine/fill.hpp"
#include "conformance/engine/run.hpp"
#include "reference/core/safetensors_convert.hpp"
#include "reference/core/verdict.hpp"

namespace assay::vectors {
namespace {

const std::string expected_prefix = "expected.", allowed_prefix = "allowed.", covers_prefix = "covers.";

/// min(w, b + z sigma), element by element; w for an op whose error model is not validated.
Tensor<double> allowances(const OpSpec& op, const Tensor<Bound>& y, double z) {
  Tensor<double> a(y.shape());
  for (Index i = 0, n = y.size(); i < n; ++i) {
    const Bound& e = y.at_flat(i);
    const double d = op.validated ? e.b + z * std::sqrt(e.variance()) : e.w;
    a.data()[i] = std::isnan(e.v) ? 0 : d < e.w ? d : e.w;  // NaN is answered by NaN alone
  }
  return a;
}

Tensor<double> values(const Tensor<Bound>& y) {
  Tensor<double> v(y.shape());
  for (Index i = 0, n = y.size(); i < n; ++i) v.data()[i] = y.at_flat(i).v;
  return v;
}

/// What the allowance of an output is around: `expected.N`, or the contract's own.
std::string centre(const SafetensorsFile& file, const std::string& output, const Cover& cover) {
  const std::string own = expected_prefix + output + "." + cover.suffix;
  return file.find(own) == nullptr ? expected_prefix + output : own;
}

std::vector<TensorSpec> outputs_of(const Call& call) {
  std::vector<TensorSpec> list;
  for (const TensorSpec& spec : call.op->outputs) {
    if (exists(spec, *call.op, call.options)) list.push_back(spec);
  }
  return list;
}

/// A tensor of doubles of the output's shape.
Tensor<double> doubles(const SafetensorsFile& file, const std::string& name, const Shape& shape,
                       const std::string& origin) {
  const RawTensor* raw = file.find(name);
  if (raw == nullptr) throw Error(origin + ": tensor", name, "none");
  if (raw->dtype != "F64" || raw->shape != shape)
    throw Error(origin + ": tensor " + name, "F64 " + to_string(shape), raw->dtype + " " + to_string(raw->shape));
  return decode_tensor(*raw);
}

}  // namespace

double vector_z() { return tier("default").z(); }

void add_expected(SafetensorsFile& file, const Call& call,
                  const std::vector<std::pair<std::string, Contract>>& covers) {
  const double z = vector_z();
  file.metadata["z"] = spell_number(z);
  const std::vector<TensorSpec> outputs = outputs_of(call);
  const auto under = [&](const Contract& contract) {
    const Reading r{&contract, false, z};
    const ReadingScope scope(r);
    Call c = call;
    c.contract = contract;
    return evaluate<Bound>(c);
  };
  const auto exact = under(parse_contract("fp64"));
  std::vector<RawTensor> definition;
  for (const TensorSpec& spec : outputs)
    definition.push_back(encode_tensor(expected_prefix + spec.name, "F64", values(exact.at(spec.name))));
  file.tensors.insert(file.tensors.end(), definition.begin(), definition.end());

  std::vector<std::pair<std::string, std::vector<RawTensor>>> kept;  // suffix, and what to keep under it
  for (const auto& cover : covers) {
    const auto bounds = under(cover.second);
    std::vector<RawTensor> tensors;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Tensor<Bound>& y = bounds.at(outputs[i].name);
      tensors.push_back(encode_tensor(allowed_prefix + outputs[i].name, "F64", allowances(*call.op, y, z)));
      const RawTensor around = encode_tensor(definition[i].name, "F64", values(y));
      if (!(around == definition[i])) tensors.push_back(around);
    }
    std::string suffix = cover.first;
    for (const auto& earlier : kept) {
      if (earlier.second == tensors) suffix = earlier.first;
    }
    if (suffix == cover.first) kept.emplace_back(suffix, tensors);
    file.metadata[covers_prefix + cover.first] = suffix + " " + cover.second.spell();
  }
  for (auto& [suffix, tensors] : kept) {
    for (RawTensor& t : tensors) {
      t.name += "." + suffix;
      file.tensors.push_back(std::move(t));
    }
  }
}

SafetensorsFile make_vector(const Plan& plan) {
  const Space space(*plan.page);
  const Case c = Case::parse(space, plan.spelling);
  const Call call = make_call(c, parse_contract(plan.family->contract));
  SafetensorsFile file = call_to_file(call);
  file.metadata["vector"] = plan.id();
  file.metadata["concept"] = plan.page->id;
  file.metadata["case"] = plan.spelling;
  std::vector<std::pair<std::string, Contract>> covers;
  for (const std::string& name : plan.family->covers) covers.emplace_back(name, parse_contract(name));
  add_expected(file, call, covers);
  return file;
}

std::vector<Cover> covers_of(const SafetensorsFile& file, const std::string& origin) {
  std::vector<Cover> list;
  for (const auto& [key, text] : file.metadata) {
    if (!key.starts_with(covers_prefix)) continue;
    const auto space = text.find(' ');
    if (space == std::string::npos)
      throw Error(origin + ": metadata key " + printable(key), "\"SUFFIX contract\"", printable(text));
    try {
      list.push_back({key.substr(covers_prefix.size()), text.substr(0, space), parse_contract(text.substr(space + 1))});
    } catch (const Error& e) {
      throw Error(origin + ": metadata key " + printable(key) + ": " + e.what());
    }
  }
  if (list.empty()) throw Error(origin + ": contracts", "a metadata key `covers.CONTRACT`", "none");
  return list;
}

void check_vector(const SafetensorsFile& file, const std::string& origin) {
  const Call call = call_from_file(file, origin);
  const auto digest = file.metadata.find("inputs");
  if (digest == file.metadata.end() || digest->second != input_digest(call))
    throw Error(origin + ": digest of the inputs", input_digest(call),
                digest == file.metadata.end() ? "none" : printable(digest->second));
  std::size_t known = call.inputs.all().size();
  for (const TensorSpec& spec : outputs_of(call)) {
    const Shape shape = shape_of(spec, call);
    doubles(file, expected_prefix + spec.name, shape, origin);
    ++known;
    std::set<std::string> seen;
    for (const Cover& cover : covers_of(file, origin)) {
      const std::string name = allowed_prefix + spec.name + "." + cover.suffix;
      const Tensor<double> allowed = doubles(file, name, shape, origin);
      for (Index i = 0, n = allowed.size(); i < n; ++i) {
        if (!(allowed.at_flat(i) >= 0))
          throw Error(origin + ": tensor " + name + ", element " + std::to_string(i), "a number that is not negative",
                      spell_number(allowed.at_flat(i)));
      }
      const std::string around = centre(file, spec.name, cover);
      doubles(file, around, shape, origin);
      seen.insert(name);
      if (around != expected_prefix + spec.name) seen.insert(around);
    }
    known += seen.size();
  }
  if (known != file.tensors.size())
    throw Error(origin + ": number of tensors", std::to_string(known) + " (inputs, expected, allowed)",
                std::to_string(file.tensors.size()));
}

std::vector<std::string> outside(const SafetensorsFile& file, const Call& call, const Tensors& outputs,
                                 const Cover& cover, double slack) {
  std::vector<std::string> wrong;
  for (const Named& output : outputs.all()) {
    const Tensor<double> expected = decode_tensor(file.at(centre(file, output.name, cover)));
    const Tensor<double> allowed = decode_tensor(file.at(allowed_prefix + output.name + "." + cover.suffix));
    if (output.value.shape() != expected.shape())
      throw Error("shape of output " + output.name + " of " + call.op->name, to_string(expected.shape()),
                  to_string(output.value.shape()));
    for (Index i = 0, n = expected.size(); i < n; ++i) {
      Bound y;
      y.v = expected.at_flat(i);
      y.b = y.w = slack * allowed.at_flat(i);
      if (judge(y, output.value.at_flat(i), *output.format, cover.contract.out_round, 0).accepted) continue;
      wrong.push_back(output.name);
      break;
    }
  }
  return wrong;
}

}  // namespace assay::vectors
