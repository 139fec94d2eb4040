#include <algorithm>

#include "conformance/engine/call.hpp"
#include "conformance/engine/capability/strict_yaml.hpp"
#include "gpu/target/launch/keys.hpp"
#include "gpu/target/launch/launch_file.hpp"
#include "spec/compiler/reader.hpp"

namespace assay {

const spec::Keys& launch_keys(const std::string& record) {
  static const std::map<std::string, spec::Keys> keys = {
      {"file",
       {{"op", "contracts", "launches"},
        {"arch", "outputs", "options", "strides", "tensor_cores", "require", "scratch"}}},
      {"launch", {{"entry", "grid", "block", "params"}, {"cluster", "shared", "when"}}},
  };
  return keys.at(record);
}

const spec::Words& number_types() {
  static const spec::Words words = {"i32", "i64", "f32", "f64"};
  return words;
}

namespace {

using Fields = std::map<std::string, YAML::Node>;

const TensorSpec* tensor_of(const OpSpec& op, const std::string& name) {
  for (const auto* list : {&op.inputs, &op.outputs})
    for (const TensorSpec& t : *list)
      if (t.name == name) return &t;
  return nullptr;
}

const OptionSpec* option_of(const OpSpec& op, const std::string& name) {
  for (const OptionSpec& o : op.options)
    if (o.name == name) return &o;
  return nullptr;
}

template <class List, class F>
std::string listed(const List& list, F name) {
  std::string all;
  for (const auto& one : list) all += (all.empty() ? "" : ", ") + name(one);
  return all;
}

std::vector<std::string> sizes_of(const OpSpec& op) {
  std::vector<std::string> all;
  for (const auto* list : {&op.inputs, &op.outputs})
    for (const TensorSpec& t : *list)
      for (const std::string& s : t.shape)
        if (!literal_size(s) && std::find(all.begin(), all.end(), s) == all.end()) all.push_back(s);
  return all;
}

/// What expressions may name: sizes and options of the op, strides of its tensors.
Names names_of(const OpSpec& op) {
  const std::string options = listed(op.options, [](const OptionSpec& o) { return o.name; });
  Names names;
  names.check_number = [&op, options](const std::string& name) {
    const std::vector<std::string> sizes = sizes_of(op);
    if (std::find(sizes.begin(), sizes.end(), name) == sizes.end() && option_of(op, name) == nullptr)
      throw Error("no such size or option of op " + op.name,
                  listed(sizes, [](const std::string& s) { return s; }) + (options.empty() ? "" : ", " + options),
                  name);
  };
  names.check_stride = [&op](const std::string& tensor, int dim) {
    const TensorSpec* const t = tensor_of(op, tensor);
    if (t == nullptr || dim >= static_cast<int>(t->shape.size()))
      throw Error("op " + op.name + " has no such tensor or size", "a tensor and a dimension of it",
                  tensor + ", " + std::to_string(dim));
  };
  names.check_choice = [&op, options](const std::string& option, const std::string& value) {
    const OptionSpec* const o = option_of(op, option);
    if (o == nullptr) throw Error("no such option of op " + op.name, options.empty() ? "none" : options, option);
    if (std::find(o->names.begin(), o->names.end(), value) == o->names.end())
      throw Error("no such value of option " + option, listed(o->names, [](const std::string& s) { return s; }), value);
  };
  return names;
}

class File {
 public:
  File(const std::string& text, const std::string& path)
      : root_(strict_yaml(text, path, "launch files")), in_(path, 1) {
    file_.path = path;
  }

  LaunchFile read() {
    const Fields fields = in_.fields(root_, "", launch_keys("file"));
    if (const auto* n = get(fields, "op")) op(*n);
    if (file_.op != nullptr) rest(fields);
    const std::string all = listed(in_.mistakes(), [](const spec::Mistake& m) { return "\n" + m.text(); });
    if (!all.empty()) throw Error(all.substr(1));
    return file_;
  }

 private:
  static const YAML::Node* get(const Fields& fields, const char* key) {
    const auto at = fields.find(key);
    return at == fields.end() ? nullptr : &at->second;
  }

  /// Errors of what is asked become mistakes of this place.
  template <class F>
  void guarded(const YAML::Node& node, const std::string& where, F f) {
    try {
      f();
    } catch (const Error& e) {
      in_.mistake(node, where, e.what());
    }
  }

  void op(const YAML::Node& node) {
    guarded(node, "op", [&] { file_.op = &page_of_op(in_.text(node, "op")).op; });
  }

  std::optional<Expression> expression(const YAML::Node& node, const std::string& where) {
    std::optional<Expression> e;
    const std::string text = in_.text(node, where);
    guarded(node, where, [&] { e.emplace(text, names_of(*file_.op)); });
    return e;
  }

  std::vector<Expression> sizes(const YAML::Node& node, const std::string& where) {
    std::vector<Expression> list;
    if (!in_.is_sequence(node, where)) return list;
    for (const auto& item : node)
      if (auto e = expression(item, where)) list.push_back(*e);
    if (node.size() < 1 || node.size() > 3) in_.mistake(node, where, "expected one to three sizes");
    return list;
  }

  void rest(const Fields& fields) {
    if (const auto* n = get(fields, "arch")) file_.arch = in_.text(*n, "arch");
    if (const auto* n = get(fields, "contracts")) {
      file_.contracts = in_.texts(*n, "contracts");
      if (file_.contracts.empty()) in_.mistake(*n, "contracts", "expected at least one contract");
      for (const std::string& c : file_.contracts) guarded(*n, "contracts", [&] { parse_contract(c); });
    }
    if (const auto* n = get(fields, "outputs")) {
      file_.outputs = in_.texts(*n, "outputs");
      for (const std::string& o : file_.outputs)
        if (std::none_of(file_.op->outputs.begin(), file_.op->outputs.end(),
                         [&](const TensorSpec& t) { return t.name == o; }))
          in_.mistake(*n, "outputs", "op " + file_.op->name + " has no output " + spec::quoted(o));
    }
    if (const auto* n = get(fields, "options")) options(*n);
    if (const auto* n = get(fields, "strides"))
      file_.strided = in_.one_of(*n, "strides", {"dense", "row_strided"}) == "row_strided";
    if (const auto* n = get(fields, "tensor_cores"))
      file_.tensor_cores = in_.one_of(*n, "tensor_cores", {"true", "false"}) == "true";
    if (const auto* n = get(fields, "require"); n && in_.is_sequence(*n, "require"))
      for (const auto& item : *n)
        if (auto e = expression(item, "require")) file_.require.push_back(*e);
    if (const auto* n = get(fields, "scratch"))
      for (const spec::Entry& entry : in_.entries(*n, "scratch"))
        if (auto e = expression(entry.value, "scratch." + entry.name)) file_.scratch.emplace(entry.name, *e);
    if (const auto* n = get(fields, "launches"); n && in_.is_sequence(*n, "launches")) {
      for (const auto& item : *n) step(item);
      if (n->size() == 0) in_.mistake(*n, "launches", "expected at least one launch");
    }
  }

  void options(const YAML::Node& node) {
    for (const spec::Entry& entry : in_.entries(node, "options")) {
      const std::string where = "options." + entry.name;
      const OptionSpec* const option = option_of(*file_.op, entry.name);
      if (option == nullptr) {
        in_.mistake(entry.key, where, "op " + file_.op->name + " has no such option");
        continue;
      }
      std::vector<std::string>& values = file_.options[entry.name];
      if (entry.value.IsScalar()) {
        in_.one_of(entry.value, where, {"any"});
        continue;
      }
      values = in_.texts(entry.value, where);
      if (values.empty()) in_.mistake(entry.value, where, "expected at least one value, or `any`");
      for (const std::string& v : values)
        if (!option->numeric() && std::find(option->names.begin(), option->names.end(), v) == option->names.end())
          in_.mistake(entry.value, where, "no such value: " + spec::quoted(v));
    }
  }

  void step(const YAML::Node& node) {
    LaunchStep s;
    const Fields fields = in_.fields(node, "launches", launch_keys("launch"));
    if (const auto* n = get(fields, "entry")) s.entry = in_.text(*n, "launches.entry");
    if (const auto* n = get(fields, "grid")) s.grid = sizes(*n, "launches.grid");
    if (const auto* n = get(fields, "block")) s.block = sizes(*n, "launches.block");
    if (const auto* n = get(fields, "cluster")) s.cluster = sizes(*n, "launches.cluster");
    if (const auto* n = get(fields, "shared")) s.shared = expression(*n, "launches.shared");
    if (const auto* n = get(fields, "when")) s.when = expression(*n, "launches.when");
    if (const auto* n = get(fields, "params"); n && in_.is_sequence(*n, "launches.params"))
      for (const auto& item : *n) param(item, s);
    file_.steps.push_back(std::move(s));
  }

  void param(const YAML::Node& node, LaunchStep& s) {
    const std::string where = "launches.params";
    if (node.IsMap()) {
      const auto entries = in_.entries(node, where);
      if (entries.size() != 1 || !spec::contains(number_types(), entries[0].name))
        return in_.mistake(node, where, "expected one of " + spec::join(number_types(), ", ") + " with an expression");
      s.params.push_back({entries[0].name, "", expression(entries[0].value, where)});
      return;
    }
    const std::string name = in_.text(node, where);
    const bool tensor = tensor_of(*file_.op, name) != nullptr, scratch = file_.scratch.count(name) != 0;
    if (!tensor && !scratch)
      in_.mistake(node, where, "op " + file_.op->name + " has no tensor " + spec::quoted(name) + ", nor has scratch");
    s.params.push_back({tensor ? "tensor" : "scratch", name, {}});
  }

  YAML::Node root_;
  spec::Reader in_;
  LaunchFile file_;
};

}  // namespace

LaunchFile parse_launch_file(const std::string& text, const std::string& path) { return File(text, path).read(); }

LaunchFile read_launch_file(const std::string& path) {
  return parse_launch_file(read_text(path, "launch file", "a YAML file (gpu/README.md)"), path);
}

}  // namespace assay
