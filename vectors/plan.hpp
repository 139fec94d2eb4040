#pragma once
#include <string>
#include <vector>

#include "spec/page.hpp"

// Which golden vectors there are: for every page with a definition its corner list and a few random cases, in each of
// the input formats. Nothing here names a page, so a new one has its vectors without a line of code.
namespace assay::vectors {

/// The vectors of one input format: the contract their inputs are in, and all that they state an allowance for. Every
/// one of them reads that format, so the same inputs serve them all.
struct Family {
  std::string contract;
  std::vector<std::string> covers;  // presets; the first is `contract`
};
const std::vector<Family>& families();

/// One vector before it is computed.
struct Plan {
  const Page* page = nullptr;
  std::string spelling;  // of its case
  const Family* family = nullptr;
  std::string name;  // of the case: "t3_n70_profile_neg_inf"

  std::string id() const;    // "softmax.safe.t3_n70_profile_neg_inf.bf16"
  std::string file() const;  // "softmax/safe/t3_n70_profile_neg_inf.bf16.safetensors", below the folder of all vectors
};

/// Whether a page has vectors: an op, and a definition of it.
bool has_vectors(const Page& page);
/// Its vectors, in a fixed order. Throws Error if two cases have one name.
std::vector<Plan> plan_vectors(const Page& page);

/// The spelling of a case as a file name: words of a-z, 0-9 and _ ("eps=1e-05" is "eps_1em05").
std::string name_of_case(const std::string& spelling);

}  // namespace assay::vectors
