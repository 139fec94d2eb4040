#pragma once
#include <nlohmann/json_fwd.hpp>

#include "spec/page.hpp"

namespace assay::spec {

/// The front matter of a page as spec/page.schema.json describes it: what the YAML says, in the order of the page.
nlohmann::ordered_json page_to_json(const Page& page);
nlohmann::ordered_json op_to_json(const OpSpec& op);

}  // namespace assay::spec
