#pragma once
#include <string>

#include "spec/compiler/vocabulary.hpp"

// What a capability file may say. tools/plugins/capability.schema.json documents the same; a test compares.
namespace assay {

/// The keys of a record: `file`, `op`, `contract`, `range`, `waiver`.
const spec::Keys& capability_keys(const std::string& record);
const spec::Words& stride_words();
const spec::Words& order_words();

}  // namespace assay
