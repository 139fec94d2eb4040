#include "conformance/engine/capability/strict_yaml.hpp"

#include <yaml-cpp/eventhandler.h>

#include <fstream>
#include <sstream>

#include "reference/core/error.hpp"

namespace assay {
namespace {

constexpr std::size_t kMaxBytes = 1 << 20, kMaxNodes = 20000, kMaxDepth = 8;

// A first pass over the events of the parser, before anything is built from them.
class Gatekeeper : public YAML::EventHandler {
 public:
  Gatekeeper(std::string path, std::string files) : path_(std::move(path)), files_(std::move(files)) {}
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) refuse(mark, "several documents in one file");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { node(mark, anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(mark, "an alias (*name)"); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string&) override {
    node(mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    enter(mark, anchor);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    enter(mark, anchor);
  }
  void OnMapEnd() override { --depth_; }

 private:
  void enter(const YAML::Mark& mark, YAML::anchor_t anchor) {
    node(mark, anchor);
    if (++depth_ > kMaxDepth) refuse(mark, "nesting deeper than " + std::to_string(kMaxDepth));
  }
  void node(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) refuse(mark, "an anchor (&name)");
    if (++nodes_ > kMaxNodes) refuse(mark, "more than " + std::to_string(kMaxNodes) + " values");
  }
  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& what) {
    throw Error(path_ + ":" + std::to_string(mark.line + 1) + ": " + files_ + " do not have " + what);
  }
  std::string path_, files_;
  std::size_t depth_ = 0, nodes_ = 0, documents_ = 0;
};

}  // namespace

YAML::Node strict_yaml(const std::string& text, const std::string& path, const std::string& files) {
  if (text.size() > kMaxBytes)
    throw Error(path + ": the file is too long", "at most 1 MiB", std::to_string(text.size()) + " bytes");
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < ' ' && c != '\n' && c != '\r' && c != '\t') || c == 127)
      throw Error(path + ": the file is not text", "printable characters",
                  "byte " + std::to_string(c) + " at " + std::to_string(i));
  }
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    Gatekeeper gatekeeper(path, files);
    while (parser.HandleNextDocument(gatekeeper)) {
    }
    return YAML::Load(text);
  } catch (const YAML::Exception& e) {
    throw Error(path + ":" + std::to_string(e.mark.line + 1) + ": not YAML: " + e.msg);
  }
}

std::string read_text(const std::string& path, const std::string& what, const std::string& expected) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(what + " cannot be read", expected, "'" + path + "'");
  std::string text(kMaxBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace assay
