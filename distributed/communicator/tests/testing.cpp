#include "distributed/communicator/tests/testing.hpp"

#include <algorithm>
#include <chrono>

namespace assay::testing {

std::vector<std::string> errors(int n, const Body& body, RanksOptions options) {
  std::vector<std::string> told(static_cast<std::size_t>(n));
  const auto start = std::chrono::steady_clock::now();
  std::string whole;
  try {
    on_ranks(
        n,
        [&](Communicator& c) {
          try {
            body(c);
          } catch (const std::exception& e) {
            told[static_cast<std::size_t>(c.rank())] = e.what();
            throw;
          }
        },
        options);
  } catch (const Error& e) {
    whole = e.what();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << "as slow as the deadline";
  std::vector<std::string> here;
  for (const int r : ranks_here(n)) {
    EXPECT_NE("", whole) << "the run ended well on rank " << r;
    here.push_back(told[static_cast<std::size_t>(r)].empty() ? whole : told[static_cast<std::size_t>(r)]);
  }
  return here;
}

::testing::AssertionResult all_say(int n, const std::vector<std::string>& errors,
                                   const std::vector<std::string>& texts) {
  if (errors.size() != ranks_here(n).size()) return ::testing::AssertionFailure() << errors.size() << " errors";
  for (const std::string& e : errors)
    if (std::none_of(texts.begin(), texts.end(), [&](const std::string& t) { return e.find(t) != std::string::npos; }))
      return ::testing::AssertionFailure() << "\"" << e << "\" does not say \"" << texts.front() << "\"";
  return ::testing::AssertionSuccess();
}

std::vector<std::byte> pattern(int rank, Index count, const Format& f) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * static_cast<std::size_t>(f.bits) / 8);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>((i + 1) * 37 + static_cast<std::size_t>(rank) * 101 + i / 251);
  return bytes;
}

std::vector<const Format*> carried_formats() {
  return {&formats::fp64, &formats::fp32,  &formats::bf16,  &formats::fp16,
          &formats::e4m3, &formats::int32, &formats::int64, &formats::uint8};
}

}  // namespace assay::testing
