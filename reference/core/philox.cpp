#include "reference/core/philox.hpp"

#include <algorithm>
#include <string>

namespace assay {
namespace {

std::uint32_t as_word(Index coordinate) {
  if (coordinate < 0 || coordinate > 0xffffffff) {
    throw Error("coordinate of a random tensor", "0..4294967295", std::to_string(coordinate));
  }
  return static_cast<std::uint32_t>(coordinate);
}

}  // namespace

PhiloxCounter philox4x32(PhiloxCounter c, PhiloxKey k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0], p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    k[0] += 0x9E3779B9;  // golden ratio
    k[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return c;
}

PhiloxKey philox_key(std::uint64_t seed) {
  return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
}

PhiloxKey batch_key(std::uint64_t seed, std::uint32_t tensor, const Shape& leading) {
  PhiloxKey key = philox_key(seed);
  for (std::size_t axis = 0; axis < leading.size(); ++axis) {
    const PhiloxCounter words =
        philox4x32({as_word(leading[axis]), static_cast<std::uint32_t>(axis), tensor, 0xffffffff}, key);
    key = {words[0], words[1]};
  }
  return key;
}

PhiloxElement::PhiloxElement(std::uint64_t seed, std::uint32_t tensor, const Shape& x)
    : key_(batch_key(seed, tensor, Shape(x.begin(), x.end() - std::min<Index>(2, static_cast<Index>(x.size()))))),
      counter_{x.size() < 2 ? 0 : as_word(x[x.size() - 2]), x.empty() ? 0 : as_word(x.back()), tensor, 0} {}

double unit(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>((std::uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

}  // namespace assay
