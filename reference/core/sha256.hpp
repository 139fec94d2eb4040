#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace assay {

/// SHA-256 of bytes that arrive piece by piece. Source: FIPS 180-4, section 6.2.
class Sha256 {
 public:
  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text);
  /// The digest of all bytes so far as 64 lower-case hexadecimal digits. More bytes may follow.
  std::string hex() const;

 private:
  void block(const std::byte* data);
  std::array<std::uint32_t, 8> state_{0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                      0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  std::array<std::byte, 64> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t total_ = 0;  // bytes
};

std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);
/// Digest of a regular file. Throws Error if it cannot be read.
std::string sha256_file(const std::filesystem::path& path);

}  // namespace assay
