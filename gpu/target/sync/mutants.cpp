#include "gpu/target/sync/mutants.hpp"

#include <map>
#include <optional>
#include <regex>
#include <sstream>

namespace assay {
namespace {

/// A line of PTX that holds an instruction, apart: "\t@%p1 ", "bar.sync", "0".
struct Line {
  std::string guard, opcode, operands;
};

std::optional<Line> instruction_of(const std::string& text) {
  static const std::regex form(R"(^\s*(@!?%\w+\s+)?([a-z][\w.:]*)\s*([^;]*);\s*$)");
  std::smatch m;
  if (!std::regex_match(text, m, form)) return {};
  std::string operands = m[3];
  while (!operands.empty() && operands.back() == ' ') operands.pop_back();
  return Line{m[1], m[2], operands};
}

bool starts(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

/// What may stand in the place of an instruction that orders something: "" deletes it.
std::vector<std::string> changes_of(const Line& i) {
  static const std::vector<const char*> deleted = {"bar.sync",
                                                   "bar.arrive",
                                                   "bar.warp.sync",
                                                   "barrier",
                                                   "fence",
                                                   "membar",
                                                   "cp.async.commit_group",
                                                   "cp.async.wait_all",
                                                   "cp.async.bulk.commit_group",
                                                   "cp.async.mbarrier.arrive",
                                                   "mbarrier.arrive",
                                                   "mbarrier.expect_tx",
                                                   "mbarrier.complete_tx",
                                                   "wgmma.fence",
                                                   "wgmma.commit_group",
                                                   "tcgen05.wait",
                                                   "tcgen05.fence",
                                                   "tcgen05.commit",
                                                   "griddepcontrol.wait"};
  std::vector<std::string> all;
  const bool reduces = has(i.opcode, ".red.");  // a barrier that votes
  for (const char* start : deleted)
    if (starts(i.opcode, start) && !reduces && !has(i.opcode, "arrive.noComplete")) {
      const bool has_result = starts(i.opcode, "mbarrier.arrive") && !i.operands.empty() && i.operands[0] == '%';
      if (!has_result) all.push_back("");
      break;
    }
  if (reduces && (starts(i.opcode, "bar.") || starts(i.opcode, "barrier."))) {
    // d, barrier, p: every thread votes for itself
    const auto first = i.operands.find(','), last = i.operands.rfind(',');
    all.push_back("mov.pred " + i.operands.substr(0, first) + "," + i.operands.substr(last + 1));
  }
  if (has(i.opcode, "wait_group")) {
    all.push_back("");
    if (!i.operands.empty() && i.operands.find_first_not_of("0123456789") == std::string::npos)
      all.push_back(i.opcode + " " + std::to_string(std::stoi(i.operands) + 1));
  }
  if (starts(i.opcode, "mbarrier.try_wait") || starts(i.opcode, "mbarrier.test_wait"))
    all.push_back("setp.eq.u32 " + i.operands.substr(0, i.operands.find(',')) + ", 0, 0");
  for (const char* order : {".acquire", ".release", ".acq_rel"})
    if (has(i.opcode, order) && !starts(i.opcode, "fence"))
      all.push_back(replaced(i.opcode, order, ".relaxed") + " " + i.operands);
  return all;
}

/// The text by lines, and which kernel each belongs to.
struct Text {
  std::vector<std::string> lines;
  std::vector<int> kernel;                   // of each line, -1: of none
  std::vector<std::string> names;            // of the kernels
  std::map<std::string, std::string> files;  // of .file, by number
};

Text read(const std::string& ptx) {
  static const std::regex entry(R"(^\s*(?:\.visible\s+|\.weak\s+)?\.entry\s+([\w$]+).*)"),
      file(R"re(^\s*\.file\s+(\d+)\s+"(?:.*/)?([^"/]*)".*)re");
  Text text;
  std::istringstream in(ptx);
  int inside = -1, depth = 0;
  bool opened = false;
  for (std::string line; std::getline(in, line);) {
    std::smatch m;
    if (inside < 0 && has(line, ".entry") && std::regex_match(line, m, entry)) {
      inside = static_cast<int>(text.names.size());
      text.names.push_back(m[1]);
      opened = false;
    }
    if (inside < 0 && has(line, ".file") && std::regex_match(line, m, file)) text.files[m[1]] = m[2];
    text.lines.push_back(line);
    text.kernel.push_back(inside);
    if (inside < 0) continue;
    for (const char c : line) {
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      opened = opened || depth > 0;
    }
    if (opened && depth == 0) inside = -1;
  }
  return text;
}

/// The module with one line replaced.
std::string module_with(const Text& text, std::size_t at, const std::string& line) {
  std::string all;
  for (std::size_t i = 0; i < text.lines.size(); ++i) all += (i == at ? line : text.lines[i]) + '\n';
  return all;
}

}  // namespace

std::string SyncMutant::name() const { return source + " " + instruction + " " + change; }

std::string with_kernels(const std::string& ptx, const std::set<std::string>& entries) {
  const Text text = read(ptx);
  std::string all;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    const int kernel = text.kernel[i];
    if (kernel == -1 || entries.count(text.names[static_cast<std::size_t>(kernel)]) > 0) all += text.lines[i];
    all += '\n';
  }
  return all;
}

std::vector<SyncMutant> sync_mutants(const std::string& ptx) {
  // Of an instruction out of an inlined function, the place of the call.
  static const std::regex loc(R"(^\s*\.loc\s+(?:.*inlined_at\s+)?(\d+)\s+(\d+).*)");
  const Text text = read(ptx);
  std::vector<SyncMutant> all;
  std::string place;
  for (std::size_t i = 0; i < text.lines.size(); ++i) {
    if (text.kernel[i] < 0) continue;
    std::smatch m;
    if (has(text.lines[i], ".loc") && std::regex_match(text.lines[i], m, loc)) {
      const auto file = text.files.find(m[1]);
      place = (file == text.files.end() ? "file " + std::string(m[1]) : file->second) + ":" + std::string(m[2]);
      continue;
    }
    const auto found = instruction_of(text.lines[i]);
    if (!found) continue;
    const std::string as_written = found->opcode + (found->operands.empty() ? "" : " " + found->operands) + ";";
    for (const std::string& change : changes_of(*found)) {
      SyncMutant mutant;
      mutant.entry = text.names[static_cast<std::size_t>(text.kernel[i])];
      mutant.line = static_cast<int>(i) + 1;
      mutant.source = place;
      mutant.instruction = as_written;
      mutant.change = change.empty() ? "deleted" : "-> " + change + ";";
      mutant.ptx = module_with(text, i, change.empty() ? "" : "\t" + found->guard + change + ";");
      all.push_back(std::move(mutant));
    }
  }
  return all;
}

}  // namespace assay
