#include "spec/compiler/vocabulary.hpp"

#include <algorithm>
#include <cctype>
#include <map>

namespace assay::spec {

const Keys& keys_of(const std::string& record) {
  static const std::map<std::string, Keys> keys = {
      {"page", {{"id", "title", "source", "wings", "cases", "claims"}, {"op", "uses", "bugs"}}},
      {"op", {{"name", "inputs", "outputs"}, {"rows", "options", "judged_by"}}},
      {"input", {{"shape", "says"}, {"dtype", "when", "fill"}}},
      {"output", {{"shape", "says"}, {"dtype", "when", "decision"}}},
      {"option", {{"says"}, {"values", "numbers"}}},
      {"cases", {{"sizes"}, {"products", "sums", "also", "profiles", "corners"}}},
      {"claim", {{"kind", "on", "says"}, {"extra"}}},
      {"bug", {{"says", "effect", "seen", "caught_by", "dies"}, {"extra"}}},
  };
  return keys.at(record);
}

const Words& chapters() {
  static const Words words = {"numerics",    "softmax", "norm",       "position", "mlp",          "model", "moe",
                              "attention",   "state",   "residual",   "sharing",  "quantization", "cache", "serving",
                              "speculative", "rl",      "collective", "parallel", "hardware",     "gemm",  "ptx"};
  return words;
}

const Words& claim_kinds() {
  static const Words words = {"exact",
                              "exact_if_batch_invariant",
                              "exact_if_same_kernel",
                              "rounding",
                              "bound",
                              "differs",
                              "law",
                              "choice",
                              "cost",
                              "invariant"};
  return words;
}

const Words& claim_subjects() {
  static const Words words = {"definition", "target", "pair", "machine", "process"};
  return words;
}

const Words& wings() {
  static const Words words = {"gpu", "distributed"};
  return words;
}

const Words& bug_contracts() {
  static const Words words = {"fp64", "fp32", "fp16", "bf16"};
  return words;
}

const Words& bug_tiers() {
  static const Words words = {"structured", "generic"};
  return words;
}

const Words& tensor_types() {
  static const Words words = {"in",    "out",    "acc",   "bool",   "int8", "uint8", "int16", "uint16",
                              "int32", "uint32", "int64", "uint64", "fp64", "fp32",  "fp16",  "bf16"};
  return words;
}

const Words& decision_rules() {
  static const Words words = {"top_k"};
  return words;
}

const Words& index_fills() {
  static const Words words = {"lengths", "page_table", "cu_seqlens"};
  return words;
}

const Words& value_profiles() {
  static const Words words = {"normal",      "uniform", "small_integers", "powers_of_two", "huge_logits",
                              "heavy_tails", "ties",    "constant",       "positive",      "few_distinct",
                              "nan_tail",    "neg_inf", "ascending",      "descending",    "cancelling",
                              "equal_rows",  "tiny",    "signed_zeros",   "specials"};
  return words;
}

bool is_reserved(const std::string& word) {
  static const Words words = {
      "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
      "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char16_t",
      "char32_t",    "char8_t",  "class",      "co_await",  "co_return", "co_yield",     "compl",
      "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
      "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
      "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
      "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
      "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
      "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
      "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
      "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
      "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
      "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
      "xor_eq"};
  return contains(words, word);
}

bool is_yaml_word(const std::string& word) {
  std::string lower = word;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  static const Words words = {"on", "off", "yes", "no", "true", "false", "null", "~", ""};
  return contains(words, lower);
}

bool contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string join(const Words& words, const std::string& between) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += (i ? between : "") + words[i];
  return text;
}

}  // namespace assay::spec
