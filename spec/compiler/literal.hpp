#pragma once
#include <initializer_list>
#include <string>

namespace assay::spec {

/// `text` as a C++ string literal; a long text becomes one literal per line.
std::string literal(const std::string& text);

/// One line of a generated table: `    {"record", {"a", "b", "", "", ""}},`.
std::string table_row(const std::string& record, std::initializer_list<std::string> fields);

}  // namespace assay::spec
