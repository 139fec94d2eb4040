#pragma once
#include <stdexcept>
#include <string>

namespace assay {

/// The one exception of assay's API: what is wrong, what was expected, what was found. Nothing below `tools/` prints or
/// exits.
struct Error : std::runtime_error {
  std::string what_is_wrong, expected, found;
  explicit Error(const std::string& what, const std::string& expected_text = "", const std::string& found_text = "")
      : std::runtime_error(what + (expected_text.empty() ? "" : ": expected " + expected_text) +
                           (found_text.empty() ? "" : ", found " + found_text)),
        what_is_wrong(what),
        expected(expected_text),
        found(found_text) {}
};

}  // namespace assay
