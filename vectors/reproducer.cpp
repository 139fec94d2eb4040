#include "vectors/reproducer.hpp"

#include <span>

#include "conformance/engine/call_file.hpp"
#include "reference/core/safetensors_convert.hpp"
#include "vectors/script.hpp"
#include "vectors/vector.hpp"

namespace assay::vectors {
namespace {

/// Puts `value` where the script says @key@.
void replace(std::string& text, const std::string& key, const std::string& value) {
  const std::string mark = "@" + key + "@";
  const auto at = text.find(mark);
  if (at == std::string::npos) throw Error("the script of reproducers", mark, "none");
  text.replace(at, mark.size(), value);
}

/// Text that can stand between the quotes of a Python docstring.
std::string docstring(const std::string& text) {
  std::string safe;
  for (const char ch : text) safe += ch == '\\' ? '/' : ch == '"' ? '\'' : ch;
  return safe;
}

}  // namespace

std::string reproducer_stem(const std::string& claim, const std::string& spelling, const Contract& contract) {
  std::string stem;
  for (const char ch : claim) {
    if (ch != ')') stem += ch == '(' ? '.' : ch;
  }
  std::string formats(contract.in->name);
  if (contract.out != contract.in) formats += "_out_" + std::string(contract.out->name);
  const std::string name = name_of_case(spelling);
  return stem + (name.empty() ? "" : "." + name) + "." + formats;
}

std::filesystem::path export_case(const Reproducer& r, const std::filesystem::path& dir) {
  SafetensorsFile file = call_to_file(r.call);
  add_expected(file, r.call, {{"contract", r.call.contract}});
  if (r.got) {
    for (const Named& t : r.got->all())
      file.tensors.push_back(encode_tensor("got." + t.name, file_dtype(*t.format), t.value));
  }
  std::string about = "A case of op " + r.call.op->name + ", contract " + r.call.contract.spell() + ".\n\n";
  for (const auto& [key, value] : r.about) {
    if (value.empty()) continue;
    file.metadata[key] = value;
    about += key + ": " + value + "\n";
  }
  about +=
      "\nRun it to see what is expected, what came back and what is allowed: the distance of `expected` to the reals "
      "that\nround to an output must be at most `allowed`. Exit code 0: all right, 1: something is wrong, 3: nothing "
      "to "
      "judge.\n";

  std::filesystem::create_directories(dir);
  write_safetensors(dir / (r.stem + ".safetensors"), file);
  std::string script = reproducer_script();
  replace(script, "about", docstring(about));
  replace(script, "file", r.stem + ".safetensors");
  const std::filesystem::path path = dir / (r.stem + ".py");
  write_bytes(path, std::as_bytes(std::span(script.data(), script.size())));
  return path;
}

}  // namespace assay::vectors
