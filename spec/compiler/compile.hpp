#pragma once
#include <string>
#include <vector>

#include "spec/compiler/reader.hpp"
#include "spec/page.hpp"

namespace assay::spec {

struct Compiled {
  Page page;
  std::vector<Mistake> mistakes;  // if there are any, the page is incomplete
};

/// The page in `text`, the content of the file `path` = "spec/CHAPTER/CONCEPT.md". Everything a page alone can get
/// wrong is in `mistakes`.
Compiled compile(const std::string& path, const std::string& text);

/// What only all pages together can get wrong: an op or an id declared twice, `uses` of an op that no page has, and
/// corners and bugs of pages that use another's op.
std::vector<Mistake> check_together(const std::vector<Page>& pages);

// The steps of compile().
OpSpec read_op(Reader& reader, const YAML::Node& node);
CaseSpec read_cases(Reader& reader, const YAML::Node& node);
std::vector<ClaimSpec> read_claims(Reader& reader, const YAML::Node& node, const std::string& page_id);
std::vector<BugSpec> read_bugs(Reader& reader, const YAML::Node& node, const std::vector<ClaimSpec>& claims,
                               const std::string& page_id);
/// Empty if `corner` ("T=3 n=70 mask=given mask_is=tail profile=ties seed=9") is a case of these records, else what is
/// wrong.
std::string wrong_in_corner(const std::string& corner, const CaseSpec& cases, const OpSpec& op);
/// Empty if the names of sizes, further parameters and options do not collide, else what is wrong.
std::string wrong_in_names(const CaseSpec& cases, const OpSpec& op);

// The generated files.
std::string options_header(const Page& page);
std::string chapter_table(const std::string& chapter, const std::vector<Page>& pages);
std::string chapter_index(const std::vector<std::string>& chapters);

}  // namespace assay::spec
