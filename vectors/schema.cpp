#include "vectors/schema.hpp"

#include <nlohmann/json.hpp>
#include <regex>

#include "reference/core/error.hpp"
#include "reference/core/file_io.hpp"

namespace assay::vectors {
namespace {

using Json = nlohmann::ordered_json;

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  throw Error("schema: type", "object, array, string, integer, number or boolean", type);
}

class Validator {
 public:
  explicit Validator(const Json& root) : root_(root) {}

  void check(const Json& schema, const Json& value, const std::string& path) {
    for (const auto& item : schema.items()) {
      const std::string& key = item.key();
      if (key == "$schema" || key == "$id" || key == "$defs" || key == "title" || key == "description") continue;
      if (key == "$ref")
        check(root_.at("$defs").at(item.value().get<std::string>().substr(8)), value, path);
      else if (!scalar(key, item.value(), value, path) && !object(key, schema, value, path) &&
               !array(key, item.value(), value, path))
        throw Error("schema: keyword", "one that this validator checks", key);
    }
  }
  std::vector<std::string> found;

 private:
  void say(const std::string& path, const std::string& expected, const Json& value) {
    const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    found.push_back((path.empty() ? "the manifest" : path) + ": expected " + expected + ", found " + printable(text));
  }

  bool scalar(const std::string& key, const Json& rule, const Json& value, const std::string& path) {
    if (key == "type") {
      if (!has_type(value, rule)) say(path, rule, value);
    } else if (key == "const") {
      if (value != rule) say(path, rule.dump(), value);
    } else if (key == "enum") {
      bool any = false;
      for (const Json& one : rule) any = any || one == value;
      if (!any) say(path, "one of " + rule.dump(), value);
    } else if (key == "pattern") {
      if (value.is_string() && !std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>())))
        say(path, "text like " + rule.get<std::string>(), value);
    } else if (key == "minimum") {
      if (value.is_number() && value < rule) say(path, "at least " + rule.dump(), value);
    } else if (key == "exclusiveMinimum") {
      if (value.is_number() && value <= rule) say(path, "more than " + rule.dump(), value);
    } else {
      return false;
    }
    return true;
  }

  bool object(const std::string& key, const Json& schema, const Json& value, const std::string& path) {
    const Json& rule = schema[key];
    if (key == "properties") {
      for (const auto& item : rule.items()) {
        if (value.is_object() && value.contains(item.key()))
          check(item.value(), value[item.key()], path + "/" + item.key());
      }
    } else if (key == "required") {
      for (const Json& name : rule) {
        if (value.is_object() && !value.contains(name.get<std::string>())) say(path, "the key " + name.dump(), value);
      }
    } else if (key == "additionalProperties") {
      if (!value.is_object()) return true;
      for (const auto& item : value.items()) {
        if (schema.contains("properties") && schema["properties"].contains(item.key())) continue;
        if (rule.is_object())
          check(rule, item.value(), path + "/" + item.key());
        else if (rule == false)
          say(path, "no key that the schema does not name", Json(item.key()));
      }
    } else if (key == "propertyNames") {
      if (!value.is_object()) return true;
      for (const auto& item : value.items()) check(rule, Json(item.key()), path + "/" + item.key());
    } else {
      return false;
    }
    return true;
  }

  bool array(const std::string& key, const Json& rule, const Json& value, const std::string& path) {
    if (key == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i)
        check(rule, value[i], path + "/" + std::to_string(i));
    } else if (key == "minItems") {
      if (value.is_array() && value.size() < rule.get<std::size_t>()) say(path, rule.dump() + " items or more", value);
    } else if (key == "uniqueItems") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (value[i] == value[j]) say(path, "no item twice", value[i]);
        }
      }
    } else {
      return false;
    }
    return true;
  }

  const Json& root_;
};

}  // namespace

std::vector<std::string> schema_violations(const Json& schema, const Json& value) {
  Validator v(schema);
  v.check(schema, value, "");
  return v.found;
}

}  // namespace assay::vectors
