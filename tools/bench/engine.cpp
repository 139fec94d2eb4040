#include <memory>

#include "conformance/engine/fill.hpp"
#include "conformance/engine/suite.hpp"
#include "tools/bench/bench.hpp"

namespace assay::bench {

Group engine() {
  Group g{"engine", {}, {}};
  RunOptions options;
  options.tier_of = tier("quick");
  options.cases = 50;
  const auto target = std::shared_ptr<Target>(make_target("subject:fp32"));
  for (const Claim& claim : claims()) {
    if (!claim.id.ends_with(".accuracy") || !claim.page->has_op) continue;
    const double cases = 50.0 + static_cast<double>(claim.page->cases.corners.size());
    g.timed.push_back(
        {claim.page->op.name + ", accuracy on subject:fp32",
         [=, &claim] { run_claim(claim, *claim.page, *target, target->contracts(claim.page->op).at(0), options); },
         cases, "cases"});
  }
  const Page& page = page_of_op("softmax");
  const auto space = std::make_shared<Space>(page);
  const auto call = std::make_shared<Call>(make_call(Case::parse(*space, "T=1 n=4"), parse_contract("fp32")));
  g.timed.push_back({"worker round trip, softmax [1, 4]", [=] { target->run(*call, {}); }, 1, "calls"});
  // Cost grows as the work does: twice the rows, twice the time (within a third)
  for (const char* rows : {"2", "4"}) {
    const auto work =
        std::make_shared<Call>(make_call(Case::parse(*space, std::string("n=70 T=") + rows), parse_contract("bf16")));
    g.timed.push_back({std::string("Bound of softmax [") + rows + ", 70]",
                       [=] {
                         const ReadingScope scope(Reading{&work->contract, false, 8.0});
                         evaluate<Bound>(*work);
                       },
                       70.0 * (rows[0] - '0'), "elements"});
  }
  g.ratios.push_back(
      {"growth of Bound when the rows double", "Bound of softmax [4, 70]", "Bound of softmax [2, 70]", 2.67, false});
  return g;
}

}  // namespace assay::bench
