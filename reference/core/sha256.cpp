#include "reference/core/sha256.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "reference/core/file_io.hpp"

namespace assay {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> k = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u};

}  // namespace

void Sha256::block(const std::byte* data) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t t = 0; t < 16; ++t)
    for (std::size_t byte = 0; byte < 4; ++byte) w[t] = w[t] << 8 | std::to_integer<std::uint32_t>(data[4 * t + byte]);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const std::uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = s1 + w[t - 7] + s0 + w[t - 16];
  }
  std::array<std::uint32_t, 8> v = state_;  // a b c d e f g h
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t sum1 = std::rotr(v[4], 6) ^ std::rotr(v[4], 11) ^ std::rotr(v[4], 25);
    const std::uint32_t choose = (v[4] & v[5]) ^ (~v[4] & v[6]);
    const std::uint32_t t1 = v[7] + sum1 + choose + k[t] + w[t];
    const std::uint32_t sum0 = std::rotr(v[0], 2) ^ std::rotr(v[0], 13) ^ std::rotr(v[0], 22);
    const std::uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    v = {t1 + sum0 + majority, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]};
  }
  for (std::size_t i = 0; i < 8; ++i) state_[i] += v[i];
}

Sha256& Sha256::update(std::span<const std::byte> bytes) {
  total_ += bytes.size();
  while (!bytes.empty()) {
    if (pending_size_ == 0 && bytes.size() >= 64) {
      block(bytes.data());
      bytes = bytes.subspan(64);
      continue;
    }
    const std::size_t n = std::min(bytes.size(), 64 - pending_size_);
    std::memcpy(pending_.data() + pending_size_, bytes.data(), n);
    pending_size_ += n;
    bytes = bytes.subspan(n);
    if (pending_size_ == 64) {
      block(pending_.data());
      pending_size_ = 0;
    }
  }
  return *this;
}

Sha256& Sha256::update(std::string_view text) { return update(std::as_bytes(std::span(text.data(), text.size()))); }

std::string Sha256::hex() const {
  // Padding: one bit 1, zeros up to 8 bytes before the end of a block, the length in bits, big-endian.
  Sha256 last = *this;
  const std::uint64_t bits = total_ * 8;
  const std::byte one{0x80};
  last.update(std::span(&one, 1));
  while (last.pending_size_ != 56) {
    const std::byte zero{0};
    last.update(std::span(&zero, 1));
  }
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(bits >> (56 - 8 * i));
  last.update(length);

  std::string out;
  for (const std::uint32_t word : last.state_)
    for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[word >> shift & 15u];
  return out;
}

std::string sha256_hex(std::span<const std::byte> bytes) { return Sha256().update(bytes).hex(); }
std::string sha256_hex(std::string_view text) { return Sha256().update(text).hex(); }

std::string sha256_file(const std::filesystem::path& path) {
  Sha256 digest;
  for_each_piece(path, [&](std::span<const std::byte> piece) { digest.update(piece); });
  return digest.hex();
}

}  // namespace assay
