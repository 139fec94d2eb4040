#pragma once
#include <string>

// How names and numbers are spelled. By hand: <regex> is slow to compile, and gcc 12 warns inside it under the
// sanitizers.
namespace assay::spec {

inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Not empty, and all of a-z, 0-9, _.
inline bool is_word(const std::string& text) {
  for (char c : text)
    if (!is_lower(c) && !is_digit(c) && c != '_') return false;
  return !text.empty();
}

/// Words with points between: "softmax.safe.sum1".
inline bool is_id(const std::string& text) {
  std::size_t start = 0;
  for (std::size_t point; (point = text.find('.', start)) != std::string::npos; start = point + 1)
    if (!is_word(text.substr(start, point - start))) return false;
  return is_word(text.substr(start));
}

/// Starts with a letter; letters (lower case, or any if `upper`), digits and single underscores.
inline bool is_identifier(const std::string& text, bool upper) {
  const auto is_letter = [upper](char c) { return is_lower(c) || (upper && c >= 'A' && c <= 'Z'); };
  for (char c : text)
    if (!is_letter(c) && !is_digit(c) && c != '_') return false;
  return !text.empty() && is_letter(text[0]) && text.find("__") == std::string::npos;
}

/// An integer of at most 18 digits without a leading zero (YAML 1.1 reads 010 as 8).
inline bool is_integer(const std::string& text) {
  const std::size_t sign = !text.empty() && text[0] == '-';
  const std::size_t digits = text.size() - sign;
  for (std::size_t i = sign; i < text.size(); ++i)
    if (!is_digit(text[i])) return false;
  return digits >= 1 && digits <= 18 && (digits == 1 || text[sign] != '0');
}

/// What YAML 1.1 reads as a number: 12, 0.5, 1.0e-6; without a point (1e-6) or a sign (1.0e6) it is text there.
inline bool is_number(const std::string& text) {
  const std::size_t point = text.find('.');
  if (!is_integer(text.substr(0, point))) return false;
  if (point == std::string::npos) return true;
  std::size_t i = point + 1;
  const std::size_t fraction = i;
  while (i < text.size() && is_digit(text[i])) ++i;
  if (i == fraction) return false;
  if (i == text.size()) return true;
  if (i + 2 >= text.size() || (text[i] != 'e' && text[i] != 'E') || (text[i + 1] != '+' && text[i + 1] != '-'))
    return false;
  for (i += 2; i < text.size(); ++i)
    if (!is_digit(text[i])) return false;
  return true;
}

}  // namespace assay::spec
