#include "reference/core/format.hpp"

#include <string>

#include "reference/core/error.hpp"

namespace assay {

namespace {
constexpr const Format* kAll[] = {&formats::fp64,     &formats::fp32,  &formats::tf32,   &formats::fp16,
                                  &formats::bf16,     &formats::e5m2,  &formats::e4m3,   &formats::e5m2fnuz,
                                  &formats::e4m3fnuz, &formats::ue4m3, &formats::e3m2,   &formats::e2m3,
                                  &formats::e2m1,     &formats::e8m0,  &formats::mxint8, &formats::int8,
                                  &formats::uint8,    &formats::int32, &formats::int64,  &formats::boolean};
}  // namespace

std::span<const Format* const> all_formats() { return kAll; }

const Format& format(std::string_view name) {
  std::string names;
  for (const Format* f : kAll) {
    if (f->name == name) return *f;
    names += (names.empty() ? "" : " ") + std::string(f->name);
  }
  throw Error("unknown number format", "one of: " + names, "'" + std::string(name) + "'");
}

}  // namespace assay
