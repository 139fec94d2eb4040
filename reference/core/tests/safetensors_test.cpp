#include "reference/core/safetensors.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>

#include "reference/core/safetensors_dtype.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

Bytes bytes_of(const std::string& text) {
  const auto span = std::as_bytes(std::span(text.data(), text.size()));
  return {span.begin(), span.end()};
}

/// A file from a header as it stands and so many bytes of data.
Bytes file_bytes(const std::string& header, std::size_t data_size) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i));
  return bytes_of(out + header + std::string(data_size, 'd'));
}

/// Deterministic bytes for tests: a linear congruential generator (Knuth's MMIX constants), upper bits.
struct Random {
  std::uint64_t state;
  std::uint64_t operator()(std::uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  }
};

/// One tensor of each dtype, shape [2, 3, 4] (24 elements fill whole bytes at 4 and at 6 bits), a scalar, an empty one.
SafetensorsFile every_dtype() {
  Random random{1};
  SafetensorsFile file;
  file.metadata = {{"claim", "softmax.safe.rows_sum_to_one"}, {"quoted", "\"\\/\n\x01\x7f"}, {"utf8", "é→𝄞"}};
  for (const SafetensorsDtype& dtype : safetensors_dtypes()) {
    RawTensor tensor{std::string("t_") + dtype.name, dtype.name, {2, 3, 4}, {}};
    for (int i = 0; i < 3 * dtype.bits; ++i) tensor.data.push_back(static_cast<std::byte>(random(256)));
    file.tensors.push_back(tensor);
  }
  file.tensors.push_back({"scalar", "F32", {}, bytes_of("abcd")});
  file.tensors.push_back({"empty", "F32", {3, 0}, {}});
  return file;
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("assay_safetensors_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Safetensors, EveryDtypeRoundTripsAndRewritesTheSameBytes) {
  const SafetensorsFile file = every_dtype();
  ASSERT_EQ(file.tensors.size(), 24u);
  const Folder folder;
  const fs::path path = folder.path / "all.safetensors";
  write_safetensors(path, file);
  const SafetensorsFile back = read_safetensors(path);
  EXPECT_EQ(back.metadata, file.metadata);
  ASSERT_EQ(back.tensors.size(), file.tensors.size());
  for (const RawTensor& tensor : file.tensors) EXPECT_EQ(back.at(tensor.name), tensor) << tensor.name;
  EXPECT_EQ(serialize_safetensors(back), read_bytes(path));
  // One file and no left-over temporary.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()), 1);
  write_safetensors(path, {});  // replacing works, and so does a file without tensors
  EXPECT_EQ(read_safetensors(path), SafetensorsFile());
}

TEST(Safetensors, ByteFormIsTheDocumentedOne) {
  SafetensorsFile file;
  file.metadata = {{"k", "v"}};
  file.tensors = {{"b", "U8", {1}, bytes_of("3")}, {"a", "U8", {1}, bytes_of("2")}, {"z", "F16", {1}, bytes_of("01")}};
  std::string header = R"({"__metadata__":{"k":"v"},"z":{"dtype":"F16","shape":[1],"data_offsets":[0,2]},)"
                       R"("a":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                       R"("b":{"dtype":"U8","shape":[1],"data_offsets":[3,4]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string expected(1, static_cast<char>(header.size()));
  expected += std::string(7, '\0') + header + "0123";
  EXPECT_EQ(serialize_safetensors(file), bytes_of(expected));
}

TEST(Safetensors, ForeignOrderIsRead) {
  // Bytes in another order than the header, an empty tensor between, no padding, spaces inside: all legal.
  const std::string header = R"({"u": {"dtype":"U8", "shape":[2], "data_offsets":[1,3]},)"
                             R"("e": {"shape":[0], "data_offsets":[1,1], "dtype":"I64"},)"
                             R"("t": {"data_offsets":[0,1], "dtype":"I8", "shape":[]}})";
  const SafetensorsFile file = parse_safetensors(file_bytes(header, 3), "x");
  ASSERT_EQ(file.tensors.size(), 3u);
  EXPECT_EQ(file.tensors[0].name, "t");
  EXPECT_EQ(file.tensors[1].name, "e");
  EXPECT_EQ(file.tensors[2].name, "u");
}

struct Hostile {
  const char* what;
  Bytes bytes;
  const char* says;  // part of the message
};

Bytes tensor_file(const std::string& body, std::size_t data_size) {
  return file_bytes("{\"t\":{" + body + "}}", data_size);
}

std::vector<Hostile> hostile_files() {
  const std::string u8 = R"({"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  const std::string good = "{\"t\":" + u8 + "}";
  Bytes long_header = file_bytes(good, 4);
  long_header[0] = std::byte{0xff};
  Bytes huge_header = file_bytes(good, 4);
  huge_header[7] = std::byte{0xff};
  const std::string deep(50'000, '[');
  const auto two = [](const std::string& a, const std::string& b) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}";
  };
  return {
      {"empty file", {}, "too short: expected 8 bytes of header length, found 0 bytes"},
      {"seven bytes", Bytes(7), "found 7 bytes"},
      {"header longer than the file", long_header, "header length: expected at most 57, found 255"},
      {"header of 2^63 bytes", huge_header, "header length"},
      {"header of no bytes", Bytes(8), "does not start with an object"},
      {"header over the limit",
       [] {
         Bytes big = file_bytes(std::string(100'000'008, ' '), 0);
         return big;
       }(),
       "header length: expected at most 100000000, found 100000008"},
      {"header starts with a space", file_bytes(" " + good, 4), "does not start with an object"},
      {"header is an array", file_bytes("[]", 0), "does not start with an object"},
      {"not JSON", file_bytes("{\"t\":}", 0), "not valid JSON"},
      {"cut off", file_bytes("{\"__metadata__\":{}", 0), "not valid JSON"},
      {"comment", file_bytes("{/**/}", 0), "not valid JSON"},
      {"invalid UTF-8", file_bytes("{\"\xff\":" + u8 + "}", 4), "not valid JSON"},
      {"overlong UTF-8", file_bytes("{\"\xc0\xaf\":" + u8 + "}", 4), "not valid JSON"},
      {"lone surrogate", file_bytes("{\"\\ud800\":" + u8 + "}", 4), "not valid JSON"},
      {"zero byte", file_bytes(good + std::string(1, '\0') + "}", 4), "zero byte"},
      {"text after the object", file_bytes(good + "{}", 4), "not valid JSON"},
      {"tab after the object", file_bytes(good + "\t", 4), "does not end with its object"},
      {"repeated tensor", file_bytes("{\"t\":" + u8 + ",\"t\":" + u8 + "}", 4),
       "repeated key: expected each key once, found 't'"},
      {"repeated tensor, escaped", file_bytes("{\"t\":" + u8 + ",\"\\u0074\":" + u8 + "}", 4), "repeated key"},
      {"repeated metadata", file_bytes(R"({"__metadata__":{},"__metadata__":{}})", 0), "repeated key"},
      {"repeated metadata key", file_bytes(R"({"__metadata__":{"a":"1","a":"2"}})", 0), "__metadata__: repeated key"},
      {"repeated field", tensor_file(R"("dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4])", 4),
       "repeated key: expected each key once, found 'dtype'"},
      {"hole at the start", file_bytes(two("[1,5]", "[5,9]"), 9),
       "tensor 'a': hole after the header: expected begin 0, found 1"},
      {"hole in the middle", file_bytes(two("[0,4]", "[5,9]"), 9),
       "tensor 'b': hole after tensor 'a': expected begin 4, found 5"},
      {"overlap", file_bytes(two("[0,4]", "[3,7]"), 7), "tensor 'b': overlaps tensor 'a': expected begin 4, found 3"},
      {"same bytes twice", file_bytes(two("[0,4]", "[0,4]"), 4), "overlaps tensor 'a'"},
      {"bytes after the last tensor", file_bytes(good, 5),
       "bytes after the last tensor: expected 4 bytes of data, found 5"},
      {"bytes and no tensor", file_bytes("{}", 1), "bytes after the last tensor"},
      {"data cut off", file_bytes(good, 3), "point behind the end of the file: expected an end of at most 3, found 4"},
      {"reversed offsets", tensor_file(R"("dtype":"U8","shape":[4],"data_offsets":[4,0])", 4), "reversed"},
      {"negative offset", tensor_file(R"("dtype":"U8","shape":[4],"data_offsets":[-4,0])", 4),
       "2 integers in [0, 2^63), found -4"},
      {"minus zero", tensor_file(R"("dtype":"U8","shape":[4],"data_offsets":[-0,4])", 4), "2 integers"},
      {"fractional offset", tensor_file(R"("dtype":"U8","shape":[4],"data_offsets":[0,4.0])", 4), "found 4.0"},
      {"offset over 2^64", tensor_file(R"("dtype":"U8","shape":[4],"data_offsets":[0,18446744073709551620])", 4),
       "found 18446744073709551620"},
      {"offset of 2^63", tensor_file(R"("dtype":"U8","shape":[4],"data_offsets":[0,9223372036854775808])", 4),
       "found 9223372036854775808"},
      {"one offset", tensor_file(R"("dtype":"U8","shape":[4],"data_offsets":[0])", 4),
       "data_offsets: expected 2 numbers, found 1"},
      {"three offsets", tensor_file(R"("dtype":"U8","shape":[4],"data_offsets":[0,4,4])", 4), "2 integers"},
      {"size disagrees", tensor_file(R"("dtype":"F32","shape":[4],"data_offsets":[0,4])", 4),
       "expected 16 bytes for F32 [4], found 4"},
      {"negative size", tensor_file(R"("dtype":"U8","shape":[-1],"data_offsets":[0,4])", 4),
       "shape: expected integers in [0, 2^63), found -1"},
      {"too many elements", tensor_file(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,4])", 4),
       "shape too large"},
      {"elements wrap to 4", tensor_file(R"("dtype":"U8","shape":[4,4611686018427387905],"data_offsets":[0,4])", 4),
       "shape too large"},
      {"bits wrap to 0", tensor_file(R"("dtype":"F64","shape":[288230376151711744],"data_offsets":[0,0])", 0),
       "disagree with dtype and shape"},
      {"empty but too large", tensor_file(R"("dtype":"U8","shape":[0,4611686018427387904,4],"data_offsets":[0,0])", 0),
       "shape too large"},
      {"half a byte", tensor_file(R"("dtype":"F4","shape":[3],"data_offsets":[0,2])", 2), "3 elements of 4 bits"},
      {"six bits", tensor_file(R"("dtype":"F6_E2M3","shape":[2],"data_offsets":[0,2])", 2), "2 elements of 6 bits"},
      {"unknown dtype", tensor_file(R"("dtype":"F128","shape":[4],"data_offsets":[0,4])", 4),
       "tensor 't': unknown dtype: expected a dtype of the format, such as F32, found 'F128'"},
      {"dtype in lower case", tensor_file(R"("dtype":"u8","shape":[4],"data_offsets":[0,4])", 4), "unknown dtype"},
      {"dtype is a number", tensor_file(R"("dtype":8,"shape":[4],"data_offsets":[0,4])", 4),
       "dtype: expected a text, found 8"},
      {"shape is a number", tensor_file(R"("dtype":"U8","shape":4,"data_offsets":[0,4])", 4),
       "shape: expected an array of sizes, found 4"},
      {"shape is an object", tensor_file(R"("dtype":"U8","shape":{},"data_offsets":[0,4])", 4), "found an object"},
      {"shape of shapes", tensor_file(R"("dtype":"U8","shape":[[4]],"data_offsets":[0,4])", 4), "found an array"},
      {"size is a text", tensor_file(R"("dtype":"U8","shape":["4"],"data_offsets":[0,4])", 4), "found the text '4'"},
      {"size is null", tensor_file(R"("dtype":"U8","shape":[null],"data_offsets":[0,4])", 4), "found null"},
      {"65 dimensions",
       tensor_file(
           "\"dtype\":\"U8\",\"shape\":[1" +
               [] {
                 std::string ones;
                 for (int i = 0; i < 64; ++i) ones += ",1";
                 return ones;
               }() +
               "],\"data_offsets\":[0,1]",
           1),
       "too many dimensions"},
      {"missing field", tensor_file(R"("dtype":"U8","data_offsets":[0,4])", 4), "missing key: expected shape"},
      {"unknown field", tensor_file(R"("dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1)", 4),
       "unknown key: expected dtype, shape, data_offsets, found 'x'"},
      {"tensor is null", file_bytes("{\"t\":null}", 0), "tensor 't': expected an object, found null"},
      {"tensor is an array", file_bytes("{\"t\":[]}", 0), "tensor 't': expected an object, found an array"},
      {"metadata is a text", file_bytes(R"({"__metadata__":"x"})", 0),
       "__metadata__: expected an object, found the text 'x'"},
      {"metadata is a number", file_bytes(R"({"__metadata__":{"a":1}})", 0),
       "__metadata__ 'a': expected a text, found 1"},
      {"metadata is nested", file_bytes(R"({"__metadata__":{"a":{}}})", 0), "found an object"},
      {"metadata is true", file_bytes(R"({"__metadata__":{"a":true}})", 0), "found true"},
      {"deep nesting", file_bytes("{\"t\":" + deep + "}", 0), "found an array"},
      {"deep nesting in a size", tensor_file("\"shape\":" + deep, 0),
       "shape: expected integers in [0, 2^63), found an array"},
      {"escape codes in a name", file_bytes("{\"\\u001b[31m\":null}", 0), "tensor '\\x1b[31m'"},
  };
}

TEST(Safetensors, HostileFilesAreRefusedWithTheReason) {
  const std::vector<Hostile> files = hostile_files();
  ASSERT_GT(files.size(), 50u);
  for (const Hostile& hostile : files) {
    const std::string says = message([&] { parse_safetensors(hostile.bytes, "evil.safetensors"); });
    EXPECT_NE(says.find(hostile.says), std::string::npos) << hostile.what << ": " << says;
    EXPECT_NE(says.find("'evil.safetensors'"), std::string::npos) << hostile.what << ": " << says;
  }
}

TEST(Safetensors, PathsThatAreNotFilesAreRefused) {
  const Folder folder;
  const fs::path file = folder.path / "file", link = folder.path / "link", loop = folder.path / "loop",
                 pipe = folder.path / "pipe";
  write_safetensors(file, every_dtype());
  fs::create_symlink(file, link);
  fs::create_symlink(loop, loop);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto says = [](const fs::path& path) { return message([&] { read_safetensors(path); }); };
  EXPECT_NE(says(folder.path / "none").find("No such file"), std::string::npos);
  EXPECT_NE(says(folder.path).find("found a directory"), std::string::npos);
  EXPECT_NE(says(link).find("found a symbolic link"), std::string::npos);
  EXPECT_NE(says(loop).find("found a symbolic link"), std::string::npos);
  EXPECT_NE(says(pipe).find("found a pipe"), std::string::npos);
  EXPECT_NE(says("/dev/null").find("found a device"), std::string::npos);
  EXPECT_NE(message([&] { write_safetensors(folder.path / "none" / "x", {}); }).find("No such file"),
            std::string::npos);
  EXPECT_NE(message([&] { write_safetensors(folder.path, {}); }).find("cannot write file"), std::string::npos);
}

TEST(Safetensors, WriterRefusesWhatTheReaderWould) {
  const auto says = [](RawTensor tensor) { return message([&] { serialize_safetensors({{tensor}, {}}); }); };
  EXPECT_NE(says({"t", "F7", {1}, Bytes(1)}).find("unknown dtype"), std::string::npos);
  EXPECT_NE(says({"t", "F32", {2}, Bytes(4)}).find("expected 8 bytes for F32 [2], found 4"), std::string::npos);
  EXPECT_NE(says({"t", "F32", {-1}, Bytes(4)}).find("negative size"), std::string::npos);
  EXPECT_NE(says({"__metadata__", "U8", {1}, Bytes(1)}).find("name is taken"), std::string::npos);
  EXPECT_NE(says({"\xff", "U8", {1}, Bytes(1)}).find("expected UTF-8, found '\\xff'"), std::string::npos);
  const RawTensor good{"t", "U8", {1}, Bytes(1)};
  EXPECT_NE(message([&] { serialize_safetensors({{good, good}, {}}); }).find("name is taken"), std::string::npos);
  EXPECT_NE(message([&] { serialize_safetensors({{good}, {{"k", "\xff"}}}); }).find("metadata 'k'"), std::string::npos);
  EXPECT_NE(message([&] { SafetensorsFile{{good}, {}}.at("u"); }).find("expected 'u', found 't'"), std::string::npos);
}

// Mutations of a valid file: each is refused with an Error or is a file that survives a rewrite unchanged. Anything
// else (a crash, another exception, a sanitizer's report) ends the test.
TEST(Safetensors, MutatedFilesAreRefusedOrSurviveARewrite) {
  SafetensorsFile small;
  small.metadata = {{"seed", "7"}};
  small.tensors = {{"x", "F32", {2, 3}, Bytes(24)}, {"codes", "F4", {4}, Bytes(2)}, {"none", "I64", {0}, {}}};
  const Bytes original = serialize_safetensors(small);
  const std::string tokens[] = {"{", "}", "[",          "]",    ",",     ":",  "\"",     "0",
                                "1", "-", "9999999999", "null", "\"x\"", "U8", "\\u0000"};
  Random random{2026};
  int refused = 0, accepted = 0;
  const int runs = 20'000;
  for (int run = 0; run < runs; ++run) {
    Bytes bytes = original;
    for (std::uint64_t edits = 1 + random(3); edits-- > 0 && !bytes.empty();) {
      const auto at = static_cast<std::ptrdiff_t>(random(bytes.size()));
      const auto count = std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(1 + random(9)), std::ssize(bytes) - at);
      switch (random(6)) {
        case 0:
          bytes[static_cast<std::size_t>(at)] ^= std::byte(1u << random(8));
          break;
        case 1:
          bytes[static_cast<std::size_t>(at)] = std::byte(random(256));
          break;
        case 2:
          bytes.erase(bytes.begin() + at, bytes.begin() + at + count);
          break;
        case 3:
          bytes.insert(bytes.begin() + at, std::byte(random(256)));
          break;
        case 4:
          bytes.resize(static_cast<std::size_t>(at));
          break;
        default: {
          const Bytes token = bytes_of(tokens[random(std::size(tokens))]);
          bytes.insert(bytes.begin() + at, token.begin(), token.end());
          if (bytes.size() > 8) bytes[0] = std::byte(std::to_integer<unsigned>(bytes[0]) + token.size());
        }
      }
    }
    try {
      const SafetensorsFile file = parse_safetensors(bytes, "mutated");
      const Bytes again = serialize_safetensors(file);
      const SafetensorsFile back = parse_safetensors(again, "rewritten");
      EXPECT_EQ(back.metadata, file.metadata);
      for (const RawTensor& tensor : file.tensors) EXPECT_EQ(back.at(tensor.name), tensor);
      EXPECT_EQ(serialize_safetensors(back), again);
      ++accepted;
    } catch (const Error&) {
      ++refused;
    }
  }
  // Both kinds must occur, or the mutations test nothing.
  EXPECT_EQ(refused + accepted, runs);
  EXPECT_GT(refused, runs / 10);
  EXPECT_GT(accepted, runs / 100);
}

}  // namespace
}  // namespace assay
