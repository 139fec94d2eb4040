#include "spec/compiler/literal.hpp"

namespace assay::spec {

std::string literal(const std::string& text) {
  static const char* hex = "0123456789abcdef";
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '\n') {
      out += i + 1 < text.size() ? "\\n\"\n     \"" : "\\n";
    } else if (c == '"' || c == '\\') {
      out += {'\\', static_cast<char>(c)};
    } else if (c < 0x20) {
      out += std::string("\\x") + hex[c >> 4] + hex[c & 15] + "\"\"";
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + "\"";
}

std::string table_row(const std::string& record, std::initializer_list<std::string> fields) {
  std::string text = "    {" + literal(record) + ", {";
  std::size_t given = 0;
  for (const std::string& field : fields) text += (given++ ? ", " : "") + literal(field);
  while (given < 5) text += given++ ? ", \"\"" : "\"\"";
  return text + "}},\n";
}

}  // namespace assay::spec
