#include "reference/core/safetensors_header.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <unordered_set>

#include "reference/core/error.hpp"
#include "reference/core/file_io.hpp"

namespace assay {
namespace {

using Json = nlohmann::json;

/// Reads the header event by event, so that repeated keys are seen (a parsed document keeps the last one silently) and
/// nesting is refused at its first bracket instead of being built. Every event either fits the state or throws.
class HeaderReader : public nlohmann::json_sax<Json> {
 public:
  HeaderReader(Header& header, const std::string& where) : header_(header), where_(where) {}

  bool null() override { return refuse("null"); }
  bool boolean(bool value) override { return refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return refuse(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return refuse(text.substr(0, 40)); }
  bool binary(binary_t&) override { return refuse("binary"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ == State::shape && value < (std::uint64_t{1} << 63)) {
      if (entry().shape.size() == 64) throw Error(context() + ": too many dimensions", "at most 64", "more");
      entry().shape.push_back(static_cast<Index>(value));
      return true;
    }
    if (state_ == State::offsets && offsets_ < 2 && value < (std::uint64_t{1} << 63)) {
      (offsets_++ == 0 ? entry().begin : entry().end) = value;
      return true;
    }
    return refuse(std::to_string(value));
  }

  bool string(string_t& value) override {
    if (state_ == State::metadata_value) {
      header_.metadata[key_] = value;
      state_ = State::metadata;
    } else if (state_ == State::dtype) {
      entry().dtype = value;
      state_ = State::tensor;
    } else {
      return refuse("the text " + printable(value));
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (state_ == State::start)
      state_ = State::root;
    else if (state_ == State::metadata_start)
      state_ = State::metadata;
    else if (state_ == State::tensor_start)
      state_ = State::tensor;
    else
      return refuse("an object");
    return true;
  }

  bool key(string_t& value) override {
    key_ = value;
    if (state_ == State::root) {
      if (!names_.insert(value).second) throw Error(where_ + ": repeated key", "each key once", printable(value));
      if (value == "__metadata__") {
        state_ = State::metadata_start;
      } else {
        header_.entries.push_back({value, "", {}, 0, 0});
        fields_.clear();
        state_ = State::tensor_start;
      }
    } else if (state_ == State::metadata) {
      if (!metadata_names_.insert(value).second)
        throw Error(where_ + ", __metadata__: repeated key", "each key once", printable(value));
      state_ = State::metadata_value;
    } else {  // a field of a tensor
      if (!fields_.insert(value).second) throw Error(context() + ": repeated key", "each key once", printable(value));
      if (value == "dtype")
        state_ = State::dtype;
      else if (value == "shape")
        state_ = State::shape_start;
      else if (value == "data_offsets")
        state_ = State::offsets_start;
      else
        throw Error(context() + ": unknown key", "dtype, shape, data_offsets", printable(value));
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::tensor && fields_.size() != 3) {
      for (const char* field : {"dtype", "shape", "data_offsets"})
        if (!fields_.count(field)) throw Error(context() + ": missing key", field, "none");
    }
    state_ = state_ == State::root ? State::done : State::root;
    return true;
  }

  bool start_array(std::size_t) override {
    if (state_ == State::shape_start) {
      state_ = State::shape;
    } else if (state_ == State::offsets_start) {
      offsets_ = 0;
      state_ = State::offsets;
    } else {
      return refuse("an array");
    }
    return true;
  }

  bool end_array() override {
    if (state_ == State::offsets && offsets_ != 2)
      throw Error(context() + ": data_offsets", "2 numbers", std::to_string(offsets_));
    state_ = State::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const Json::exception& error) override {
    // The library's text ends with what it read, which may be any bytes; its number says enough.
    throw Error(where_ + ": header is not valid JSON", "one JSON object in UTF-8",
                "error " + std::to_string(error.id) + " at byte " + std::to_string(position) + " of the header");
  }

 private:
  enum class State {
    start,
    root,
    metadata_start,
    metadata,
    metadata_value,
    tensor_start,
    tensor,
    dtype,
    shape_start,
    shape,
    offsets_start,
    offsets,
    done
  };

  HeaderEntry& entry() { return header_.entries.back(); }

  std::string context() const {
    if (state_ == State::metadata_start) return where_ + ", __metadata__";
    if (state_ == State::metadata_value) return where_ + ", __metadata__ " + printable(key_);
    if (header_.entries.empty()) return where_ + ", header";
    return where_ + ", tensor " + printable(header_.entries.back().name);
  }

  bool refuse(const std::string& found) const {
    switch (state_) {
      case State::metadata_start:
      case State::tensor_start:
        throw Error(context(), "an object", found);
      case State::metadata_value:
        throw Error(context(), "a text", found);
      case State::dtype:
        throw Error(context() + ": dtype", "a text", found);
      case State::shape_start:
        throw Error(context() + ": shape", "an array of sizes", found);
      case State::shape:
        throw Error(context() + ": shape", "integers in [0, 2^63)", found);
      case State::offsets_start:
        throw Error(context() + ": data_offsets", "an array of 2 offsets", found);
      case State::offsets:
        throw Error(context() + ": data_offsets", "2 integers in [0, 2^63)", found);
      default:
        throw Error(where_ + ": header", "one JSON object", found);
    }
  }

  Header& header_;
  const std::string& where_;
  State state_ = State::start;
  std::string key_;
  int offsets_ = 0;
  std::unordered_set<std::string> names_, metadata_names_;
  std::set<std::string> fields_;
};

std::string json_text(const std::string& text, const std::string& what) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    throw Error("safetensors, " + what, "UTF-8", printable(text));
  }
}

}  // namespace

Header parse_header(const std::string& json, const std::string& where) {
  if (json.empty() || json[0] != '{')
    throw Error(where + ": header does not start with an object", "'{'",
                json.empty() ? "nothing" : printable(json.substr(0, 1)));
  // The library takes a zero byte for the end of its input and would not look at what follows.
  if (const std::size_t zero = json.find('\0'); zero != std::string::npos)
    throw Error(where + ": header is not valid JSON", "text", "a zero byte at byte " + std::to_string(zero));
  const std::size_t last = json.find_last_not_of(' ');
  if (json[last] != '}')
    throw Error(where + ": header does not end with its object", "'}' and spaces", printable(json.substr(last, 1)));
  Header header;
  HeaderReader reader(header, where);
  Json::sax_parse(json, &reader);
  return header;
}

std::string header_text(const Header& header) {
  std::string out = "{";
  if (!header.metadata.empty()) {
    out += "\"__metadata__\":{";
    for (const auto& pair : header.metadata)
      out += (out.back() == '{' ? "" : ",") + json_text(pair.first, "metadata key") + ":" +
             json_text(pair.second, "metadata " + printable(pair.first));
    out += "}";
  }
  for (const HeaderEntry& entry : header.entries) {
    std::string shape;
    for (const Index size : entry.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    out += (out.size() == 1 ? "" : ",") + json_text(entry.name, "name of a tensor") + ":{\"dtype\":\"" + entry.dtype +
           "\",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(entry.begin) + "," +
           std::to_string(entry.end) + "]}";
  }
  return out + "}";
}

}  // namespace assay
