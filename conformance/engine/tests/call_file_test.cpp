#include "conformance/engine/call_file.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/core/philox.hpp"
#include "reference/core/safetensors_convert.hpp"

// A small op of our own would need a page; the file form is tested on the pages there are.
namespace assay {
namespace {

Call softmax_call(const char* contract = "bf16") {
  Call call;
  call.op = &page_of_op("softmax").op;
  call.contract = parse_contract(contract);
  for (const OptionSpec& o : call.op->options) call.options.push_back(o.numeric() ? o.numbers[0] : 0);
  call.set_option("mask", 1);
  Tensor<double> x(Shape{2, 3}), mask(Shape{2, 3}, 1.0);
  const double values[] = {0.5, -0.0, -3, std::numeric_limits<double>::infinity(), std::nan(""), 128};
  for (Index i = 0; i < 6; ++i) x.data()[i] = values[i];
  mask.data()[4] = 0;
  call.inputs.set("x", x, call.contract.in);
  call.inputs.set("mask", mask, &formats::boolean);
  return call;
}

/// What reading the file throws, "" if nothing.
std::string refusal(const SafetensorsFile& file) {
  try {
    outputs_from_file(file, call_from_file(file, "FILE"), "FILE");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

/// A file with the answer in it.
SafetensorsFile good(const Call& call = softmax_call()) {
  SafetensorsFile file = call_to_file(call);
  Tensors outputs;
  outputs.set("p", Tensor<double>(Shape{2, 3}, 0.5), call.contract.out);
  add_outputs(file, outputs);
  return file;
}

void expect_refused(const SafetensorsFile& file, const std::string& says) {
  const std::string text = refusal(file);
  EXPECT_NE(text.find(says), std::string::npos) << "said: " << text << "\nwanted: " << says;
  EXPECT_TRUE(text.starts_with("FILE: ") || text.find("tensor") != std::string::npos) << text;
}

RawTensor& tensor(SafetensorsFile& file, const std::string& name) {
  for (RawTensor& t : file.tensors) {
    if (t.name == name) return t;
  }
  throw Error("no tensor " + name);
}

TEST(CallFile, ComesBackTheSame) {
  for (const char* contract : {"fp64", "fp32", "fp16", "bf16", "tf32", "in=e4m3 acc=fp32 out=e2m1 kind=mma(24,8)"}) {
    Call call = softmax_call(contract);
    if (!call.contract.in->has_infinity()) {
      Tensor<double> x = call["x"].clone();
      x.data()[3] = 0;
      call.set("x", x);
    }
    const SafetensorsFile written = good(call);
    const SafetensorsFile file = parse_safetensors(serialize_safetensors(written), "memory");
    const Call back = call_from_file(file, "FILE");
    EXPECT_EQ(back.op, call.op);
    EXPECT_EQ(back.contract.spell(), call.contract.spell());
    EXPECT_EQ(back.options, call.options);
    EXPECT_EQ(back.inputs.all().size(), 2U);
    EXPECT_EQ(input_digest(back), input_digest(call)) << contract;
    EXPECT_EQ(input_digest(back), file.metadata.at("inputs"));
    EXPECT_TRUE(std::signbit(back["x"].at_flat(1))) << "the sign of zero is kept";
    const Tensors outputs = outputs_from_file(file, back, "FILE");
    ASSERT_TRUE(outputs.has("p"));
    EXPECT_EQ(outputs["p"].at_flat(5), 0.5);
    EXPECT_FALSE(outputs.has("lse"));
  }
}

TEST(CallFile, SaysWhatIsWanted) {
  const SafetensorsFile file = call_to_file(softmax_call());
  EXPECT_EQ(file.metadata.at("output.p"), "BF16 2 3");
  EXPECT_EQ(file.metadata.at("output.lse"), "F32 2");
  EXPECT_EQ(file.metadata.at("option.mask"), "given");
  EXPECT_EQ(file.at("in.mask").dtype, "BOOL");
}

TEST(CallFile, TheDigestSeesEveryInput) {
  const Call call = softmax_call();
  Call other = call;
  Tensor<double> x = call["x"].clone();
  x.data()[1] = 0.0;  // only the sign of a zero
  other.set("x", x);
  EXPECT_NE(input_digest(call), input_digest(other));
}

TEST(CallFile, RefusesMetadata) {
  for (const char* key : {"assay", "op", "contract", "option.mask", "option.empty_row"}) {
    SafetensorsFile file = good();
    file.metadata.erase(key);
    expect_refused(file, std::string("key `") + key + "`");
    file.metadata[key] = "nonsense\n\x01";
    EXPECT_NE(refusal(file), "") << key;
  }
}

TEST(CallFile, RefusesTensors) {
  SafetensorsFile file = good();
  tensor(file, "in.x").name = "in.y";
  expect_refused(file, "unknown tensor: expected in.x, in.mask, found 'in.y'");

  file = good();
  std::erase_if(file.tensors, [](const RawTensor& t) { return t.name == "in.mask"; });
  expect_refused(file, "in.mask");

  file = good();
  tensor(file, "in.x").shape = {6};
  expect_refused(file, "shape of tensor in.x: expected [T, n], found [6]");

  file = good();
  tensor(file, "in.mask").shape = {3, 2};
  expect_refused(file, "size T of tensor in.mask: expected 2 as in the tensors before, found 3");

  file = good();
  file.metadata["option.mask"] = "none";
  expect_refused(file, "unknown tensor: expected in.x, found 'in.mask'");

  file = good();
  tensor(file, "in.x") = encode_tensor("in.x", "F32", Tensor<double>(Shape{2, 3}, 1 + 0x1p-20));
  expect_refused(file, "tensor 'in.x' (F32), element 0: expected a value of bf16");

  file = good();
  tensor(file, "in.mask") = encode_tensor("in.mask", "F32", Tensor<double>(Shape{2, 3}, 0.5));
  expect_refused(file, "a value of bool");

  file = good();
  std::erase_if(file.tensors, [](const RawTensor& t) { return t.name == "in.mask"; });
  file.metadata["option.mask"] = "none";
  tensor(file, "in.x") = RawTensor{"in.x", "BF16", {Index{1} << 40, 0}, {}};
  expect_refused(file, "at most 2^30");
}

TEST(CallFile, RefusesOutputs) {
  SafetensorsFile file = good();
  tensor(file, "out.p").name = "out.q";
  expect_refused(file, "unknown tensor: expected out.p, out.log_p, out.lse, found 'out.q'");
  file = good();
  tensor(file, "out.p").shape = {3, 2};
  expect_refused(file, "shape of tensor out.p: expected [2, 3], found [3, 2]");
  expect_refused(call_to_file(softmax_call()), "no output: expected at least one of out.p, out.log_p, out.lse");
  file = good();
  tensor(file, "out.p") = encode_tensor("out.p", "F32", Tensor<double>(Shape{2, 3}, 0.3f));
  expect_refused(file, "a value of bf16, the contract's format");
}

TEST(CallFile, AWiderTypeIsTakenIfItsValuesAre) {
  SafetensorsFile file = good();
  tensor(file, "out.p") = encode_tensor("out.p", "F64", Tensor<double>(Shape{2, 3}, 0.25));
  EXPECT_EQ(refusal(file), "");
}

TEST(CallFile, SurvivesAnyBytes) {
  const Bytes whole = serialize_safetensors(good());
  int read = 0, refused = 0;
  for (std::uint32_t i = 0; i < 20000; ++i) {
    Bytes bytes = whole;
    const auto words = philox4x32({i, 0, 0, 0}, {1, 2});
    for (std::uint32_t k = 0; k <= words[0] % 3; ++k)
      bytes[words[k + 1] % bytes.size()] = std::byte(words[k] >> 8 & 0x7F);
    if (words[0] % 7 == 0) bytes.resize(words[3] % bytes.size());
    try {
      const SafetensorsFile file = parse_safetensors(bytes, "memory");
      outputs_from_file(file, call_from_file(file, "FILE"), "FILE");
      ++read;
    } catch (const Error& e) {
      ++refused;
      EXPECT_FALSE(e.what_is_wrong.empty());
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace assay
