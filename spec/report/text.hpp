#pragma once
#include <string>
#include <vector>

namespace assay::spec {

/// Columns a terminal needs for `text` (UTF-8; combining characters count).
std::size_t width(const std::string& text);

/// `text` broken at spaces into lines of at most `columns`, all indented by `indent` but the first.
std::string wrap(const std::string& text, std::size_t columns, std::size_t indent);

/// Rows in aligned columns, two spaces apart, each line indented by `indent`; the last column is wrapped at `columns`.
std::string table(const std::vector<std::vector<std::string>>& rows, std::size_t indent = 2, std::size_t columns = 120);

std::string joined(const std::vector<std::string>& words, const std::string& between = ", ");

}  // namespace assay::spec
