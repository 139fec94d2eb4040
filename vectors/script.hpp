#pragma once
#include <string>

namespace assay::vectors {

/// The text of vectors/reproduce.py as it was when assay was built.
const std::string& reproducer_script();

}  // namespace assay::vectors
