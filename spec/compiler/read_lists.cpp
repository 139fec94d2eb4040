#include "spec/compiler/read_lists.hpp"

#include <set>
#include <sstream>

namespace assay::spec {
namespace {

struct Line {
  int number;
  std::vector<std::string> columns;
};

class ListReader {
 public:
  explicit ListReader(const std::map<std::string, std::string>& files) : files_(files) {}

  // The lines of a list, without comments; those with a wrong number of columns or an empty column are mistakes.
  std::vector<Line> lines(const std::string& name, std::size_t columns) {
    name_ = name;
    std::vector<Line> list;
    std::istringstream file(files_.at(name));
    int number = 0;
    for (std::string text; std::getline(file, text);) {
      ++number;
      if (text.empty() || text[0] == '#') continue;
      Line line{number, {}};
      std::istringstream words(text);
      for (std::string word; std::getline(words, word, '\t');) line.columns.push_back(word);
      if (line.columns.size() != columns) {
        mistake(number, "expected " + std::to_string(columns) + " columns between tabs, found " +
                            std::to_string(line.columns.size()));
        continue;
      }
      bool full = true;
      for (const std::string& word : line.columns) full = full && word.find_first_not_of(' ') != std::string::npos;
      if (full)
        list.push_back(line);
      else
        mistake(number, "a column is empty");
    }
    if (list.empty() && name != "changes") mistake(1, "the list is empty");
    return list;
  }
  void id(const Line& line, const std::string& text) {
    if (!is_id(text)) mistake(line.number, "an id is words of a-z, 0-9, _ with points between, found " + quoted(text));
    if (!seen_[name_].insert(text).second) mistake(line.number, quoted(text) + " is listed twice");
  }
  void one_of(const Line& line, const std::string& text, const Words& words) {
    if (!contains(words, text))
      mistake(line.number, "expected one of " + join(words, ", ") + ", found " + quoted(text));
  }
  void known(const Line& line, const std::string& text, const std::set<std::string>& ids, const std::string& list) {
    if (!ids.count(text)) mistake(line.number, quoted(text) + " is not in spec/" + list + ".tsv");
  }
  void mistake(int line, const std::string& what) { mistakes.push_back({"spec/" + name_ + ".tsv", line, "", what}); }

  std::vector<Mistake> mistakes;

 private:
  const std::map<std::string, std::string>& files_;
  std::string name_;
  std::map<std::string, std::set<std::string>> seen_;
};

// Catalogue id -> final id, for the mission; what is covered elsewhere has chapter "-" and no final id.
std::map<std::string, std::string> read_concepts(ListReader& reader, Lists& lists) {
  std::map<std::string, std::string> final_id;
  for (const Line& line : reader.lines("concepts", 5)) {
    const auto& c = line.columns;
    if (c[1] == "-") continue;
    reader.id(line, c[4]);
    reader.one_of(line, c[1], chapters());
    if (c[4].rfind(c[1] + ".", 0) != 0) reader.mistake(line.number, quoted(c[4]) + " is not in chapter " + c[1]);
    if (!final_id.emplace(c[0], c[4]).second) reader.mistake(line.number, quoted(c[0]) + " is listed twice");
    lists.concepts.push_back({c[4], c[1], c[0]});
  }
  return final_id;
}

void read_mission(ListReader& reader, Lists& lists, const std::map<std::string, std::string>& final_id) {
  for (const Line& line : reader.lines("mission", 2)) {
    MissionItem item{line.columns[0], {}};
    std::istringstream ids(line.columns[1]);
    for (std::string id; ids >> id;) {
      const auto found = final_id.find(id);
      if (found == final_id.end())
        reader.mistake(line.number, quoted(id) + " is not the catalogue id of a concept in spec/concepts.tsv");
      else
        item.concept_ids.push_back(found->second);
    }
    lists.mission.push_back(item);
  }
}

void read_changes(ListReader& reader, Lists& lists, const std::map<std::string, std::set<std::string>>& ids) {
  for (const Line& line : reader.lines("changes", 5)) {
    const auto& c = line.columns;
    const Change change{c[0], c[1], c[2], c[3], c[4]};
    reader.one_of(line, change.kind, {"concept", "claim", "trap"});
    reader.one_of(line, change.action, {"merged", "dropped", "moved", "altered"});
    reader.id(line, change.id);
    if (ids.count(change.kind)) reader.known(line, change.id, ids.at(change.kind), change.kind + "s");
    if (change.action == "dropped" && change.into != "-")
      reader.mistake(line.number, "what is dropped goes into nothing: expected \"-\", found " + quoted(change.into));
    if ((change.action == "merged" || change.action == "moved") && (change.into == "-" || change.into == change.id))
      reader.mistake(line.number, "expected the id that takes its place, found " + quoted(change.into));
    if (change.action == "altered") {
      const std::size_t space = change.into.find(' ');
      if (change.kind != "claim") reader.mistake(line.number, "only a claim can be altered, not a " + change.kind);
      reader.one_of(line, change.into.substr(0, space), claim_kinds());
      reader.one_of(line, space == std::string::npos ? "" : change.into.substr(space + 1), claim_subjects());
    }
    lists.changes.push_back(change);
  }
}

}  // namespace

ReadLists read_lists(const std::map<std::string, std::string>& files) {
  ReadLists result;
  ListReader reader(files);
  Lists& lists = result.lists;
  const auto final_id = read_concepts(reader, lists);
  std::map<std::string, std::set<std::string>> ids;
  for (const ListedConcept& one : lists.concepts) ids["concept"].insert(one.id);
  for (const Line& line : reader.lines("claims", 5)) {
    const auto& c = line.columns;
    reader.id(line, c[1]);
    reader.known(line, c[0], ids["concept"], "concepts");
    if (c[1].rfind(c[0] + ".", 0) != 0) reader.mistake(line.number, quoted(c[1]) + " is not a claim of " + c[0]);
    reader.one_of(line, c[2], claim_kinds());
    reader.one_of(line, c[3], claim_subjects());
    ids["claim"].insert(c[1]);
    lists.claims.push_back({c[0], c[1], c[2], c[3], c[4]});
  }
  for (const Line& line : reader.lines("traps", 4)) {
    const auto& c = line.columns;
    reader.id(line, c[0] + "." + c[1]);
    reader.known(line, c[0], ids["concept"], "concepts");
    ids["trap"].insert(c[0] + "." + c[1]);
    lists.traps.push_back({c[0], c[1], c[2], c[3]});
  }
  read_mission(reader, lists, final_id);
  read_changes(reader, lists, ids);
  result.mistakes = reader.mistakes;
  return result;
}

}  // namespace assay::spec
