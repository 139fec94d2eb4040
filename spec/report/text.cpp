#include "spec/report/text.hpp"

#include <algorithm>
#include <sstream>

namespace assay::spec {

std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string wrap(const std::string& text, std::size_t columns, std::size_t indent) {
  std::istringstream words(text);
  std::string out;
  std::size_t at = indent;
  for (std::string word; words >> word;) {
    if (at > indent && at + 1 + width(word) > columns) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
    }
    if (at > indent) {
      out += " ";
      ++at;
    }
    out += word;
    at += width(word);
  }
  return out;
}

std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t indent, std::size_t columns) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line(indent, ' ');
    std::size_t at = indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == widths.size();
      // The last column keeps at least 40 columns, however wide the others are.
      line += last ? wrap(row[i], std::max(columns, at + 40), at) : row[i];
      if (!last) line += std::string(widths[i] + 2 - width(row[i]), ' ');
      at += widths[i] + 2;
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += (i ? between : "") + words[i];
  return text;
}

}  // namespace assay::spec
