#pragma once
#include <vector>

#include "spec/page.hpp"

// How a chapter's table is compiled in: rows of plain text, which cost next to nothing to compile, turned into Pages at
// start-up.
namespace assay::spec {

/// `record` says what the row is and what its fields are:
///   page id chapter title path      source text          wing name          uses op        body text
///   op name rows                    option name says     value name         number text
///   input|output name dtype shape(separated by spaces) when(option=value or "") says        decision rule
///   size|also name low high         profile name         corner text          fill kind names
///   claim id kind on says extra     bug name says effect caught_by extra    seen text      dies contract tier
/// `fill`: of the last input; `decision`: of the last output; `value`, `number`: of the last option; `seen`, `dies`: of
/// the last bug; everything: of the last page.
struct Row {
  const char* record;
  const char* field[5];
};

/// Throws Error for a row it does not know: the table and this reader come from different versions.
std::vector<Page> pages_from(const Row* rows, std::size_t count);

/// All chapters, in order of name; generated.
std::vector<const std::vector<Page>*> chapter_tables();

}  // namespace assay::spec
