// Half of the interoperability test with the Python package `safetensors`: writes files, lists files. The other half is
// check.py, which lists in the same text what the package sees.
#include <bit>
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>

#include "reference/core/safetensors_convert.hpp"
#include "reference/core/safetensors_dtype.hpp"
#include "reference/core/sha256.hpp"

namespace {

using namespace assay;

/// Every code of dtypes up to 16 bits, so that the package's view of each value can be compared; a counter in the
/// others, with the top bits of each element moving.
RawTensor tensor_of(const SafetensorsDtype& dtype) {
  const Index elements = dtype.bits <= 16 ? Index{1} << dtype.bits : 4096;
  RawTensor raw{std::string("t_") + dtype.name, dtype.name, {elements / 8, 8}, {}};
  raw.data.resize(static_cast<std::size_t>(elements * dtype.bits / 8));
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < raw.data.size(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    raw.data[i] = static_cast<std::byte>(state >> 56);
  }
  if (dtype.kind == SafetensorsDtype::Kind::boolean) {
    for (std::byte& byte : raw.data) byte &= std::byte{1};
  } else if (dtype.bits <= 16) {
    raw.data.assign(raw.data.size(), std::byte{0});
    for (Index bit = 0; bit < elements * dtype.bits; ++bit)
      if (bit / dtype.bits >> bit % dtype.bits & 1)
        raw.data[static_cast<std::size_t>(bit / 8)] |= static_cast<std::byte>(1 << bit % 8);
  }
  return raw;
}

void write(const std::string& folder) {
  SafetensorsFile all;
  all.metadata = {{"text \"é\"\n\x01", "one key: the package writes several in any order"}};
  for (const SafetensorsDtype& dtype : safetensors_dtypes()) all.tensors.push_back(tensor_of(dtype));
  all.tensors.push_back({"scalar é \"\\\t", "F64", {}, Bytes(8, std::byte{0x3f})});
  all.tensors.push_back({"empty", "F32", {0, 3}, {}});
  write_safetensors(folder + "/ours.safetensors", all);
  // The package reads 6-bit types but has no name for them when it writes.
  SafetensorsFile writable = all;
  std::erase_if(writable.tensors, [](const RawTensor& t) { return t.dtype.substr(0, 2) == "F6"; });
  write_safetensors(folder + "/writable.safetensors", writable);
}

void list(const std::string& path) {
  const SafetensorsFile file = read_safetensors(path);
  for (const auto& pair : file.metadata)
    std::printf("metadata %s %s\n", sha256_hex(pair.first).c_str(), sha256_hex(pair.second).c_str());
  for (const RawTensor& raw : file.tensors) {
    std::printf("tensor %s %s %s %s\n", sha256_hex(raw.name).c_str(), raw.dtype.c_str(), to_string(raw.shape).c_str(),
                sha256_hex(raw.data).c_str());
    if (!safetensors_format(raw.dtype)) continue;
    std::printf("values");
    const Tensor<double> values = decode_tensor(raw);
    for (Index i = 0; i < values.size(); ++i) {
      const double value = values.data()[i];
      if (std::isnan(value))
        std::printf(" nan");
      else
        std::printf(" %016llx", static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(value)));
    }
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string command = argc == 3 ? argv[1] : "";
    if (command == "write") {
      write(argv[2]);
    } else if (command == "list") {
      list(argv[2]);
    } else {
      std::fprintf(stderr, "usage: safetensors_probe write FOLDER | list FILE\n");
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
