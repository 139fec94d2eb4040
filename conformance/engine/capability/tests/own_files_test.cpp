#include <gtest/gtest.h>

#include "conformance/engine/capability/capability.hpp"

namespace assay::test {
namespace {

// The files in the repository.
TEST(Capability, OwnFilesAreValid) {
  for (const char* name : {"onednn/onednn.yaml", "template/template.yaml", "template/template_cpp.yaml"}) {
    const Capability c = read_capability(std::string(ASSAY_SOURCE_DIR) + "/tools/plugins/" + name);
    EXPECT_FALSE(c.ops.empty()) << name;
  }
}

}  // namespace
}  // namespace assay::test
