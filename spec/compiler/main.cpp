// assay_pages ROOT chapter NAME OUT   spec/NAME/*.md -> OUT/NAME.cpp and OUT/NAME/CONCEPT.hpp
// assay_pages ROOT index OUT          all pages, checked together and against the lists -> OUT/chapters.cpp
// assay_pages ROOT lists OUT          spec/*.tsv -> OUT/lists.cpp
// assay_pages ROOT json ID            a page's front matter as JSON, on the standard output
// ROOT is the folder that contains spec/. Exit codes: 0, 1 a page is wrong (printed one mistake a line), 2 usage.
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>

#include "spec/compiler/compile.hpp"
#include "spec/compiler/files.hpp"
#include "spec/compiler/read_lists.hpp"
#include "spec/json.hpp"
#include "spec/report/changes.hpp"

namespace assay::spec {
namespace {

bool report(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) std::cerr << mistake.text() << "\n";
  return mistakes.empty();
}

bool compile_chapter(const std::string& root, const std::string& chapter, std::vector<Page>& pages) {
  bool good = true;
  for (const std::string& path : pages_of(root, chapter)) {
    Compiled compiled = compile(path, read_file(root + "/" + path));
    good = report(compiled.mistakes) && good;
    pages.push_back(std::move(compiled.page));
  }
  return good;
}

bool write_chapter(const std::string& root, const std::string& chapter, const std::string& out) {
  std::vector<Page> pages;
  if (!compile_chapter(root, chapter, pages)) return false;
  for (const Page& page : pages)
    write_if_changed(out + "/" + chapter + "/" + page.id.substr(chapter.size() + 1) + ".hpp", options_header(page));
  write_if_changed(out + "/" + chapter + ".cpp", chapter_table(chapter, pages));
  return true;
}

std::map<std::string, std::string> list_files(const std::string& root) {
  std::map<std::string, std::string> files;
  for (const std::string name : {"concepts", "claims", "traps", "mission", "changes"})
    files[name] = read_file(root + "/spec/" + name + ".tsv");
  return files;
}

bool write_index(const std::string& root, const std::string& out) {
  std::vector<Page> pages;
  bool good = true;
  for (const std::string& chapter : chapters_of(root)) good = compile_chapter(root, chapter, pages) && good;
  if (!good || !report(check_together(pages))) return false;
  const ReadLists read = read_lists(list_files(root));
  if (!report(read.mistakes)) return false;
  for (const std::string& one : disagreements(read.lists, pages)) {
    std::cerr << "spec: " << one << "\n";
    good = false;
  }
  if (!good) return false;
  write_if_changed(out + "/chapters.cpp", chapter_index(chapters_of(root)));
  return true;
}

bool write_lists(const std::string& root, const std::string& out) {
  const ReadLists read = read_lists(list_files(root));
  if (!report(read.mistakes)) return false;
  write_if_changed(out + "/lists.cpp", list_table_source(read.lists));
  return true;
}

bool print_json(const std::string& root, const std::string& id) {
  const std::string chapter = id.substr(0, id.find('.'));
  std::vector<Page> pages;
  if (!compile_chapter(root, chapter, pages)) return false;
  for (const Page& page : pages) {
    if (page.id != id) continue;
    std::cout << page_to_json(page).dump(2) << "\n";
    return true;
  }
  std::cerr << "no page has the id " << id << "\n";
  return false;
}

int run(const std::vector<std::string>& args) {
  if (args.size() == 4 && args[1] == "chapter") return write_chapter(args[0], args[2], args[3]) ? 0 : 1;
  if (args.size() == 3 && args[1] == "index") return write_index(args[0], args[2]) ? 0 : 1;
  if (args.size() == 3 && args[1] == "lists") return write_lists(args[0], args[2]) ? 0 : 1;
  if (args.size() == 3 && args[1] == "json") return print_json(args[0], args[2]) ? 0 : 1;
  std::cerr << "usage: assay_pages ROOT chapter NAME OUT | ROOT index OUT | ROOT lists OUT | ROOT json ID\n";
  return 2;
}

}  // namespace
}  // namespace assay::spec

int main(int argc, char** argv) {
  try {
    return assay::spec::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
