#include "spec/report/skeleton.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include "reference/core/error.hpp"
#include "spec/lists.hpp"
#include "spec/nearest.hpp"
#include "spec/report/skeleton_parts.hpp"
#include "spec/spelling.hpp"

namespace assay::spec {
namespace fs = std::filesystem;

namespace {

std::string camel(const std::string& name) {
  std::string out;
  bool capital = true;
  for (char c : name) {
    if (c != '_') out += capital && c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
    capital = c == '_';
  }
  return out;
}

NewConcept describe(const std::string& concept_path, const std::string& op) {
  const std::size_t slash = concept_path.find_first_of("/.");  // norm/toy, or its id norm.toy
  NewConcept c;
  c.chapter = concept_path.substr(0, slash);
  c.name = slash == std::string::npos ? "" : concept_path.substr(slash + 1);
  if (!is_word(c.chapter) || !is_word(c.name))
    throw Error("the new concept", "CHAPTER/CONCEPT in lower-case letters, digits and underscores", concept_path);
  if (!op.empty() && !is_identifier(op, false))
    throw Error("the new op", "a name of lower-case letters, digits and underscores", op);
  std::set<std::string> chapters;
  for (const ListedConcept& one : lists().concepts) chapters.insert(one.chapter);
  if (!chapters.count(c.chapter))
    throw Error("the chapter", suggest(c.chapter, {chapters.begin(), chapters.end()}), c.chapter);
  c.op = op.empty() ? c.chapter + "_" + c.name : op;
  c.options = camel(c.op) + "Options";
  c.function = c.op;
  c.header = c.chapter + "/" + c.name;
  for (const Page& page : pages())
    if (page.has_op && page.op.name == c.op && page.id != c.id()) {
      c.used = &page;
      c.function = c.chapter + "_" + c.name;
      c.header = page.id;
      c.header[page.chapter.size()] = '/';
    }
  for (const ListedClaim& claim : lists().claims)
    if (claim.concept_id == c.id()) c.claims.push_back({claim.id, claim.kind, claim.on, claim.says, ""});
  for (const ListedTrap& trap : lists().traps)
    if (trap.concept_id == c.id()) c.traps.push_back(trap);
  for (const ListedConcept& one : lists().concepts) c.listed = c.listed || one.id == c.id();
  if (c.claims.empty())
    c.claims.push_back(
        {c.id() + ".accuracy", "rounding", "target", "y equals the definition within the contract's bound", ""});
  return c;
}

std::vector<NewFile> files_of(const NewConcept& c) {
  const std::string definition = "reference/" + c.chapter + "/" + c.name, claims = "conformance/" + c.chapter + "/";
  std::vector<NewFile> files = {{"spec/" + c.chapter + "/" + c.name + ".md", new_page(c)},
                                {definition + ".hpp", new_header(c)},
                                {definition + ".cpp", new_definition(c)},
                                {claims + c.name + ".cpp", new_claims(c)}};
  if (!c.used) {
    files.push_back({claims + "subject/" + c.op + ".cpp", new_subject(c)});
    files.push_back({claims + "second_opinion/" + c.op + ".cpp", new_second_opinion(c)});
  }
  return files;
}

void write(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  const fs::path temporary = path.string() + ".new";
  std::ofstream file(temporary, std::ios::binary);
  file << content;
  file.close();
  if (!file) throw Error("cannot write " + temporary.string());
  fs::rename(temporary, path);
}

}  // namespace

std::vector<NewFile> skeleton(const std::string& concept_path, const std::string& op) {
  return files_of(describe(concept_path, op));
}

std::string create(const std::string& root, const std::string& concept_path, const std::string& op) {
  const NewConcept c = describe(concept_path, op);
  const std::vector<NewFile> files = files_of(c);
  if (!fs::exists(fs::path(root) / "spec/page.schema.json"))
    throw Error("the root of the project", "a folder with spec/page.schema.json", root);
  for (const NewFile& file : files)
    if (fs::exists(fs::path(root) / file.path)) throw Error("nothing is overwritten: " + file.path + " exists");
  std::string text;
  for (const NewFile& file : files) {
    write(fs::path(root) / file.path, file.content);
    text += "wrote " + file.path + "\n";
  }
  if (!c.listed) text += c.id() + " is not in spec/concepts.tsv: it is a concept beyond the lists.\n";
  return text +
         "Next: write the page first (each TODO is refused by the build, with its line), then the definition, the "
         "claims, and the "
         "subject with its bugs.\n`assay status --concept " +
         c.id() + "` says what is missing.\n";
}

}  // namespace assay::spec
