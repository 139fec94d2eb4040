#include "reference/core/sha256.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "reference/core/error.hpp"
#include "reference/core/file_io.hpp"

namespace assay {
namespace {

// The example digests published with FIPS 180-4 ("Cryptographic Standards and Guidelines: examples with intermediate
// values") and the one-million-a message of the same series.
TEST(Sha256, PublishedExamples) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnop"
                       "qrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, AnyCutGivesTheSameDigest) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7 + 1);
  const std::string whole = sha256_hex(text);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 digest;
    digest.update(std::string_view(text).substr(0, cut));
    digest.hex();  // reading the digest does not end it
    digest.update(std::string_view(text).substr(cut));
    EXPECT_EQ(digest.hex(), whole) << "cut at " << cut;
  }
}

TEST(Sha256, OfAFile) {
  const auto path = std::filesystem::temp_directory_path() / ("assay_sha256_" + std::to_string(::getpid()));
  const std::string text(3'000'001, 'x');  // more than one piece
  write_bytes(path, std::as_bytes(std::span(text)));
  EXPECT_EQ(sha256_file(path), sha256_hex(text));
  std::filesystem::remove(path);
  EXPECT_THROW(sha256_file(path), Error);
  EXPECT_THROW(sha256_file(std::filesystem::temp_directory_path()), Error);
}

}  // namespace
}  // namespace assay
