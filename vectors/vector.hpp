#pragma once
#include <map>
#include <string>
#include <vector>

#include "conformance/engine/call.hpp"
#include "reference/core/safetensors.hpp"
#include "vectors/plan.hpp"

// A vector is a call in the form of conformance/engine/call_file.hpp (so it is a case that `assay gen` could have
// written), with
//
//   metadata  vector, concept, case   its id, its page, the case it was made from
//             z                       of the allowance: min(w, b + z sigma), spec/numerics/verdict.md
//             covers.CONTRACT         "SUFFIX spelling": a contract that it covers, and which tensors have its
//             allowance
//   tensors   expected.N              output N by the definition in double, F64
//             expected.N.SUFFIX       the same where that contract casts an intermediate to a coarser format and the
//                                     cast is emulated, only if it differs
//             allowed.N.SUFFIX        how far an honest implementation under that contract may be from it, F64
//
// An output o is right iff the distance of `expected` (of the contract, if there is one) to the reals that round to o
// in the output's format is at most `allowed`; NaN answers NaN and nothing else.
namespace assay::vectors {

/// z of the vectors: that of the default tier.
double vector_z();

/// Adds expected outputs and allowances under each of `covers` (contract name -> contract) to a call's file. Allowances
/// that are equal are kept once.
void add_expected(SafetensorsFile& file, const Call& call, const std::vector<std::pair<std::string, Contract>>& covers);

/// Computes a vector.
SafetensorsFile make_vector(const Plan& plan);

/// A contract that a file covers.
struct Cover {
  std::string name, suffix;
  Contract contract;
};
/// Those of a file. Throws Error naming `origin` if there is none, or one is not readable.
std::vector<Cover> covers_of(const SafetensorsFile& file, const std::string& origin);

/// Checks that a file is a vector, all of it: a readable call, an F64 `expected` of the right shape for every output,
/// an `allowed` (not negative, not NaN) for every output and contract, and nothing else. Throws Error naming `origin`
/// and tensor.
void check_vector(const SafetensorsFile& file, const std::string& origin);

/// Judges outputs by a vector's tensors alone. Returns the outputs with an element that is farther from `expected` than
/// `slack` times what contract `cover` allows.
std::vector<std::string> outside(const SafetensorsFile& file, const Call& call, const Tensors& outputs,
                                 const Cover& cover, double slack = 1);

}  // namespace assay::vectors
