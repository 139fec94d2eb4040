#include "vectors/verify.hpp"

#include <cmath>
#include <map>
#include <set>

#include "conformance/engine/call.hpp"
#include "reference/core/error.hpp"
#include "reference/core/safetensors_convert.hpp"
#include "reference/core/sha256.hpp"
#include "vectors/generate.hpp"
#include "vectors/schema.hpp"
#include "vectors/vector.hpp"

namespace assay::vectors {
namespace {

namespace fs = std::filesystem;

std::string text_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

class Verifier {
 public:
  explicit Verifier(const fs::path& dir) : dir_(dir) {}

  Verification run(bool regenerate, const std::function<void(const std::string&)>& progress) {
    entries_ = read_manifest(dir_ / manifest_name, result_.problems);
    attempt([this] {
      if (text_of(read_bytes(dir_ / schema_name)) != manifest_schema())
        say((dir_ / schema_name).string() + ": not the schema of this assay");
    });
    std::string concept_id;
    for (const Entry& e : entries_) {
      if (e.concept_id != concept_id) progress(concept_id = e.concept_id);
      attempt([this, &e] { file(e); });
    }
    unlisted();
    if (regenerate) again(progress);
    return result_;
  }

 private:
  void say(const std::string& problem) { result_.problems.push_back(problem); }

  template <class F>
  void attempt(F body) {
    try {
      body();
    } catch (const Error& e) {
      say(e.what());
    }
  }

  void same(const Entry& e, const std::string& what, const std::string& expected, const std::string& found) {
    if (expected != found)
      say(path(e) + ": " + what + ": expected " + printable(expected) + ", found " + printable(found));
  }
  std::string path(const Entry& e) const { return (dir_ / e.file).string(); }

  void file(const Entry& e) {
    const Bytes bytes = read_bytes(dir_ / e.file);
    ++result_.vectors;
    result_.bytes += bytes.size();
    same(e, "bytes", std::to_string(e.bytes), std::to_string(bytes.size()));
    same(e, "SHA-256", e.sha256, sha256_hex(bytes));
    const SafetensorsFile f = parse_safetensors(bytes, path(e));
    check_vector(f, path(e));
    const std::map<std::string, std::string> said = {{"vector", e.id},
                                                     {"concept", e.concept_id},
                                                     {"op", e.op},
                                                     {"case", e.spelling},
                                                     {"z", spell_number(vector_z())}};
    for (const auto& [key, value] : said) {
      const auto at = f.metadata.find(key);
      same(e, "metadata key " + key, value, at == f.metadata.end() ? "" : at->second);
    }
    same(e, "contract", parse_contract(e.contract).spell(), f.metadata.at("contract"));
    std::set<std::string> covered;
    for (const Cover& c : covers_of(f, path(e))) covered.insert(c.name);
    if (covered != std::set<std::string>(e.covers.begin(), e.covers.end()))
      say(path(e) + ": covers other contracts than the manifest says");
  }

  void unlisted() {
    std::set<std::string> listed;
    for (const Entry& e : entries_) listed.insert(e.file);
    for (const auto& item : fs::recursive_directory_iterator(dir_)) {
      if (item.path().extension() != ".safetensors") continue;
      if (listed.count(fs::relative(item.path(), dir_).generic_string()) == 0)
        say(item.path().string() + ": not in the manifest");
    }
  }

  void again(const std::function<void(const std::string&)>& progress) {
    std::map<std::string, std::vector<Entry>> by_concept;
    for (const Entry& e : entries_) by_concept[e.concept_id].push_back(e);
    for (const auto& item : by_concept) {
      progress(item.first + " again");
      attempt([this, &item] { compare(page(item.first), item.second); });
    }
  }

  void compare(const Page& page, const std::vector<Entry>& listed) {
    std::map<std::string, const Entry*> left;
    for (const Entry& e : listed) left[e.id] = &e;
    if (!has_vectors(page)) throw Error("concept " + page.id, "a page with an op that has a definition", "none");
    for (const Written& w : make_vectors(page)) {
      const auto at = left.find(w.entry.id);
      if (at == left.end()) {
        say((dir_ / w.entry.file).string() + ": the page asks for this vector, the manifest lacks it");
        continue;
      }
      const std::string differs = difference(w.bytes, read_bytes(dir_ / w.entry.file));
      if (!differs.empty()) say((dir_ / w.entry.file).string() + ": " + differs);
      if (differs.empty() && !(w.entry == *at->second))
        say((dir_ / manifest_name).string() + ": the line of " + w.entry.id + " is not what generate writes");
      left.erase(at);
    }
    for (const auto& item : left) say(path(*item.second) + ": the page no longer asks for this vector");
  }

  fs::path dir_;
  std::vector<Entry> entries_;
  Verification result_;
};

std::string difference_of(const RawTensor& expected, const RawTensor& found) {
  const std::string where = "tensor " + expected.name;
  if (expected.dtype != found.dtype || expected.shape != found.shape)
    return where + ": expected " + expected.dtype + " " + to_string(expected.shape) + ", found " +
           printable(found.dtype) + " " + to_string(found.shape);
  const Tensor<double> x = decode_tensor(expected), y = decode_tensor(found);
  for (Index i = 0, n = x.size(); i < n; ++i) {
    const double a = x.at_flat(i), b = y.at_flat(i);
    if ((a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b))) continue;
    return where + ", element " + std::to_string(i) + ": expected " + spell_number(a) + ", found " + spell_number(b);
  }
  return where + ": other bits of the same values";
}

}  // namespace

std::string difference(const Bytes& expected, const Bytes& found) {
  if (expected == found) return "";
  SafetensorsFile a = parse_safetensors(expected, "regenerated"), b;
  try {
    b = parse_safetensors(found, "file");
  } catch (const Error& e) {
    return e.what();
  }
  for (const RawTensor& t : a.tensors) {
    const RawTensor* other = b.find(t.name);
    if (other == nullptr) return "tensor " + t.name + ": missing";
    if (!(*other == t)) return difference_of(t, *other);
  }
  for (const RawTensor& t : b.tensors) {
    if (a.find(t.name) == nullptr) return "tensor " + printable(t.name) + ": not in the regenerated file";
  }
  for (const auto& [key, value] : a.metadata) {
    const auto at = b.metadata.find(key);
    if (at == b.metadata.end() || at->second != value)
      return "metadata key " + key + ": expected " + printable(value) + ", found " +
             (at == b.metadata.end() ? "none" : printable(at->second));
  }
  for (const auto& item : b.metadata) {
    if (a.metadata.count(item.first) == 0) return "metadata key " + printable(item.first) + ": not expected";
  }
  return "the same tensors and metadata, laid out in other bytes";
}

Verification verify(const fs::path& dir, bool regenerate, const std::function<void(const std::string&)>& progress) {
  return Verifier(dir).run(regenerate, progress);
}

}  // namespace assay::vectors
