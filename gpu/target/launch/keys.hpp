#pragma once
#include <string>

#include "spec/compiler/vocabulary.hpp"

// What a launch file may say. launch.schema.json documents the same; a test compares.
namespace assay {

/// The keys of a record: `file`, `launch`.
const spec::Keys& launch_keys(const std::string& record);
/// The types of numbers among a kernel's parameters.
const spec::Words& number_types();

}  // namespace assay
