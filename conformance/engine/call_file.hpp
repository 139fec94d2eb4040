#pragma once
#include <string>

#include "conformance/engine/call.hpp"
#include "reference/core/safetensors.hpp"

// A call as a safetensors file, the one form in which calls and answers leave assay (vectors, `assay gen`, `assay
// judge`).
//
//   metadata  assay      "call 1"
//             op         "softmax"
//             contract   "in=bf16 acc=fp32 out=bf16"
//             option.N   value of option N as the page spells it, every option of the op
//             output.N   dtype and sizes of a wanted output: "F32 3 70"
//             inputs     SHA-256 of the inputs, see input_digest
//   tensors   in.N       each input that exists under these options
//             out.N      outputs, in an answer or a vector
// Whoever writes such a file may add metadata under other keys.
namespace assay {

/// The dtype under which values of a format are kept: its own, or F32 where safetensors has none or would need whole
/// bytes (tf32, mxint8, formats below 8 bits). Every value of the format is one of the dtype.
std::string file_dtype(const Format& format);

/// Metadata and inputs of a call; `add_outputs` puts outputs beside them.
SafetensorsFile call_to_file(const Call& call);
void add_outputs(SafetensorsFile& file, const Tensors& outputs);

/// The call of a file, checked against the page: op, contract, every option, each input with its rank, sizes that agree
/// and values of the contract's format (a wider dtype is taken if its values are). Throws Error naming `origin`, the
/// key or tensor, what was expected and what was found.
Call call_from_file(const SafetensorsFile& file, const std::string& origin);

/// The outputs of a file, checked against the call in the same way. Outputs may be left out; a file without a single
/// one, or with one that the call does not have, throws Error.
Tensors outputs_from_file(const SafetensorsFile& file, const Call& call, const std::string& origin);

/// SHA-256, in hexadecimal, of the inputs as a file without metadata: the same on every machine.
std::string input_digest(const Call& call);

}  // namespace assay
