#include "conformance/engine/worker/dtype.hpp"

#include "reference/core/error.hpp"

namespace assay {
namespace {

struct Row {
  const char* name;
  int code, bits;
};
constexpr Row rows[] = {
    {"fp64", ASSAY_FLOAT, 64},
    {"fp32", ASSAY_FLOAT, 32},
    {"tf32", ASSAY_FLOAT, 32},
    {"fp16", ASSAY_FLOAT, 16},
    {"bf16", ASSAY_BFLOAT, 16},
    {"e5m2", ASSAY_FLOAT8_E5M2, 8},
    {"e4m3", ASSAY_FLOAT8_E4M3FN, 8},
    {"e5m2fnuz", ASSAY_FLOAT8_E5M2FNUZ, 8},
    {"e4m3fnuz", ASSAY_FLOAT8_E4M3FNUZ, 8},
    {"ue4m3", ASSAY_FLOAT8_E4M3FN, 8},
    {"e3m2", ASSAY_FLOAT6_E3M2FN, 6},
    {"e2m3", ASSAY_FLOAT6_E2M3FN, 6},
    {"e2m1", ASSAY_FLOAT4_E2M1FN, 4},
    {"e8m0", ASSAY_FLOAT8_E8M0FNU, 8},
    {"mxint8", ASSAY_INT, 8},
    {"int4", ASSAY_INT, 4},
    {"uint4", ASSAY_UINT, 4},
    {"int8", ASSAY_INT, 8},
    {"uint8", ASSAY_UINT, 8},
    {"int16", ASSAY_INT, 16},
    {"uint16", ASSAY_UINT, 16},
    {"int32", ASSAY_INT, 32},
    {"uint32", ASSAY_UINT, 32},
    {"int64", ASSAY_INT, 64},
    {"uint64", ASSAY_UINT, 64},
    {"bool", ASSAY_BOOL, 8},
};

}  // namespace

assay_dtype abi_dtype(const std::string& format) {
  std::string names;
  for (const Row& row : rows) {
    if (format == row.name)
      return {static_cast<std::uint8_t>(row.code), static_cast<std::uint8_t>(row.bits), std::uint16_t{1}};
    names += (names.empty() ? "" : " ") + std::string(row.name);
  }
  throw Error("number format without a code in the plugin ABI", "one of: " + names, "'" + format + "'");
}

}  // namespace assay
