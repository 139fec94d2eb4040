#include "spec/compiler/compile.hpp"

#include <algorithm>
#include <map>

namespace assay::spec {
namespace {

// The YAML between the two lines `---`, and what follows. False if the file does not have that form.
bool split(const std::string& text, std::string& front, std::string& body) {
  if (text.rfind("---\n", 0) != 0) return false;
  const std::size_t end = text.find("\n---\n", 3);
  if (end == std::string::npos) return false;
  front = text.substr(4, end + 1 - 4);
  body = text.substr(end + 5);
  body.erase(0, body.find_first_not_of('\n'));
  return true;
}

// A page from the skeleton says TODO where something is to be written.
void check_body(Reader& reader, const std::string& text, const std::string& body) {
  const std::size_t start = text.size() - body.size();
  for (std::size_t at = text.find("TODO", start); at != std::string::npos; at = text.find("TODO", at + 4)) {
    const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    reader.mistake_at(static_cast<int>(line), "", "still to be written: TODO in the text");
  }
}

void check_identity(Reader& reader, const YAML::Node& node, Page& page) {
  const std::string& path = page.path;
  const std::size_t slash = path.rfind('/');
  const bool form = path.rfind("spec/", 0) == 0 && slash > 5 && path.size() > slash + 4 &&
                    path.compare(path.size() - 3, 3, ".md") == 0;
  const std::string name = form ? path.substr(slash + 1, path.size() - slash - 4) : "";
  if (form) page.chapter = path.substr(5, slash - 5);
  if (!is_word(name) || !is_word(page.chapter)) {
    reader.mistake_at(
        1, "", "expected a file spec/CHAPTER/CONCEPT.md with names of lower-case letters, digits and underscores");
    return;
  }
  if (!contains(chapters(), page.chapter))
    reader.mistake_at(1, "",
                      "unknown chapter: expected one of " + join(chapters(), ", ") + ", found " + quoted(page.chapter));
  const std::string expected = page.chapter + "." + name;
  if (page.id != expected)
    reader.mistake(node, "id",
                   "expected " + quoted(expected) + " as in the path of the file, found " + quoted(page.id));
}

void read(Reader& reader, const YAML::Node& root, Page& page) {
  auto fields = reader.fields(root, "", keys_of("page"));
  if (fields.count("id")) {
    page.id = reader.text(fields["id"], "id");
    check_identity(reader, fields["id"], page);
  }
  if (fields.count("title")) page.title = reader.text(fields["title"], "title");
  if (fields.count("source")) {
    page.source = reader.texts(fields["source"], "source");
    if (page.source.empty()) reader.mistake(fields["source"], "source", "expected at least one source, found none");
  }
  if (fields.count("wings") && reader.is_sequence(fields["wings"], "wings"))
    for (const auto& wing : fields["wings"]) page.wings.push_back(reader.one_of(wing, "wings", wings()));
  if (fields.count("op") && fields.count("uses"))
    reader.mistake(fields["uses"], "uses", "a page has either `op` or `uses`");
  if (fields.count("op")) {
    page.has_op = true;
    page.op = read_op(reader, fields["op"]);
  }
  if (fields.count("uses")) page.uses = reader.identifier(fields["uses"], "uses");
  if (fields.count("cases")) page.cases = read_cases(reader, fields["cases"]);
  if (fields.count("claims")) page.claims = read_claims(reader, fields["claims"], page.id);
  if (fields.count("claims") && page.claims.empty())
    reader.mistake(fields["claims"], "claims", "expected at least one claim, found none");
  for (const ClaimSpec& claim : page.claims)
    if ((claim.on == "target" || claim.on == "pair") && !page.has_op && !fields.count("uses"))
      reader.mistake(fields["claims"], "claims." + claim.id.substr(page.id.size() + 1),
                     "a claim on a " + claim.on + " needs an op: expected `op` or `uses` on the page, found neither");
  if (fields.count("bugs")) page.bugs = read_bugs(reader, fields["bugs"], page.claims, page.id);
  if (!page.uses.empty() || !fields.count("cases")) return;  // the names of another page's op: check_together()
  const std::string wrong = wrong_in_names(page.cases, page.op);
  if (!wrong.empty()) reader.mistake(fields["cases"], "cases", wrong);
  if (!fields["cases"].IsMap() || !fields["cases"]["corners"] || !fields["cases"]["corners"].IsSequence()) return;
  for (const auto& corner : fields["cases"]["corners"]) {
    const std::string what = corner.IsScalar() ? wrong_in_corner(corner.Scalar(), page.cases, page.op) : "";
    if (!what.empty()) reader.mistake(corner, "cases.corners", what);
  }
}

}  // namespace

Compiled compile(const std::string& path, const std::string& text) {
  Compiled result;
  result.page.path = path;
  Reader reader(path, 2);  // the front matter starts on the second line
  std::string front;
  if (!split(text, front, result.page.body)) {
    reader.mistake_at(1, "", "expected YAML between a first line `---` and a line `---`");
  } else {
    try {
      const YAML::Node root = YAML::Load(front);
      read(reader, root, result.page);
      check_body(reader, text, result.page.body);
      if (result.page.body.empty()) reader.mistake_at(1, "", "the page has no text below its front matter");
    } catch (const YAML::Exception& error) {
      reader.mistake_at(error.mark.is_null() ? 2 : error.mark.line + 2, "", "not YAML: " + error.msg);
    }
  }
  result.mistakes = reader.mistakes();
  return result;
}

std::vector<Mistake> check_together(const std::vector<Page>& pages) {
  std::vector<Mistake> mistakes;
  std::map<std::string, const Page*> ops, ids;
  for (const Page& page : pages) {
    const auto first = ids.emplace(page.id, &page);
    if (!first.second)
      mistakes.push_back({page.path, 1, "id", quoted(page.id) + " is the id of " + first.first->second->path + " too"});
    if (!page.has_op) continue;
    const auto owner = ops.emplace(page.op.name, &page);
    if (!owner.second)
      mistakes.push_back(
          {page.path, 1, "op.name", quoted(page.op.name) + " is the op of " + owner.first->second->path + " too"});
  }
  Words names;
  for (const auto& op : ops) names.push_back(op.first);
  for (const Page& page : pages) {
    if (page.uses.empty()) continue;
    const auto owner = ops.find(page.uses);
    if (owner == ops.end()) {
      mistakes.push_back(
          {page.path, 1, "uses", "expected the op of a page (" + join(names, ", ") + "), found " + quoted(page.uses)});
      continue;
    }
    const std::string wrong = wrong_in_names(page.cases, owner->second->op);
    if (!wrong.empty()) mistakes.push_back({page.path, 1, "cases", wrong});
    for (const std::string& corner : page.cases.corners) {
      const std::string what = wrong_in_corner(corner, page.cases, owner->second->op);
      if (!what.empty()) mistakes.push_back({page.path, 1, "cases.corners", what});
    }
  }
  return mistakes;
}

}  // namespace assay::spec
