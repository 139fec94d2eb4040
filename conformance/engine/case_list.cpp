#include "conformance/engine/case_list.hpp"

#include "reference/core/philox.hpp"

namespace assay {

std::vector<Case> list_cases(const Space& space, int random, std::uint64_t seed) {
  std::vector<Case> cases;
  for (const std::string& corner : space.page().cases.corners) cases.push_back(Case::parse(space, corner));
  for (int i = 0; i < random; ++i) {
    std::vector<std::int64_t> values;
    for (std::size_t axis = 0; axis < space.axes().size(); ++axis) {
      const Axis& a = space.axes()[axis];
      const auto words = philox4x32({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(axis), 0, 0x63617365U},
                                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
      const auto n = static_cast<std::uint64_t>(a.high - a.low + 1);
      values.push_back(a.low + static_cast<std::int64_t>(words[0] * n >> 32));  // n < 2^32
    }
    cases.emplace_back(space, std::move(values));
  }
  return cases;
}

}  // namespace assay
