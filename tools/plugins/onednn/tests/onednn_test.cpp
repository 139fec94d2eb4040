#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "conformance/engine/capability/capability.hpp"
#include "conformance/engine/worker/worker.hpp"
#include "reference/core/contract.hpp"
#include "reference/core/format.hpp"

// The adapter, on inputs whose results are exact: small integers in products, rows of 2^k equal logits, rows of +-1.
// What oneDNN's numerics are worth is the business of `assay run --target plugin:onednn.so`.
namespace assay {
namespace {

// Rows further apart than they are long by `pad`; a size of 1 gets a garbage stride.
TensorBytes tensor(const std::string& name, const std::string& dtype, const Shape& shape,
                   const std::vector<double>& values, Index pad = 0) {
  const int width = dtype == "int8" || dtype == "uint8" ? 1 : format(dtype).bits / 8;
  TensorBytes b{name, dtype, shape, dense_strides(shape), {}};
  if (shape.size() == 2) b.strides[0] += pad;
  Index span = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) span += (shape[d] - 1) * b.strides[d];
  if (count(shape) == 0) span = 0;
  b.bytes.resize(static_cast<std::size_t>(span * width), std::byte{0xFF});  // NaN between the rows
  for (Index flat = 0; flat < static_cast<Index>(values.size()); ++flat) {
    const Index offset = shape.size() == 2 ? flat / shape[1] * b.strides[0] + flat % shape[1] : flat;
    const std::uint64_t code = encode(format(dtype), values[static_cast<std::size_t>(flat)]);
    std::memcpy(&b.bytes[static_cast<std::size_t>(offset * width)], &code, static_cast<std::size_t>(width));
  }
  if (pad && shape[0] == 1) b.strides[0] = 987654321;
  return b;
}

std::vector<double> values(const TensorBytes& b) {
  const int width = format(b.dtype).bits / 8;
  std::vector<double> v(static_cast<std::size_t>(count(b.shape)));
  for (Index flat = 0; flat < static_cast<Index>(v.size()); ++flat) {
    Index offset =
        b.shape.size() == 2 ? flat / b.shape[1] * (b.shape[0] == 1 ? 0 : b.strides[0]) + flat % b.shape[1] : flat;
    std::uint64_t code = 0;
    std::memcpy(&code, &b.bytes[static_cast<std::size_t>(offset * width)], static_cast<std::size_t>(width));
    v[static_cast<std::size_t>(flat)] = decode(format(b.dtype), code);
  }
  return v;
}

class OneDnn : public testing::Test {
 protected:
  // Under both guards; the two must agree.
  Reply call(const std::string& op, const std::string& contract, std::vector<TensorBytes> inputs,
             std::vector<TensorBytes> outputs, std::vector<RequestOption> options = {}) {
    Request r{
        std::string("plugin:") + ASSAY_ONEDNN, op, contract, std::move(options), std::move(inputs), std::move(outputs)};
    const Reply after = worker_.call(r);
    r.guard = Guard::before;
    Reply before = worker_.call(r);
    EXPECT_STREQ(to_string(after.kind), to_string(before.kind)) << after.message << " / " << before.message;
    for (std::size_t i = 0; i < before.outputs.size(); ++i) EXPECT_EQ(after.outputs[i].bytes, before.outputs[i].bytes);
    return before;
  }
  bool offers(const std::string& op, const std::string& contract) {
    const Reply r = worker_.offers(std::string("plugin:") + ASSAY_ONEDNN, op, contract);
    EXPECT_TRUE(r.kind == Reply::Kind::ok || r.kind == Reply::Kind::unsupported) << r.message;
    return r.kind == Reply::Kind::ok;
  }
  Worker worker_;
};

#define ASSERT_OK(reply) ASSERT_STREQ(to_string((reply).kind), "ok") << (reply).message

TEST_F(OneDnn, LinearOfSmallIntegersIsExact) {
  struct Types {
    const char *in, *bias, *out, *contract;
  };
  for (const Types t : {Types{"fp32", "fp32", "fp32", "in=fp32 acc=fp32 out=fp32"},
                        Types{"bf16", "bf16", "bf16", "in=bf16 acc=fp32 out=bf16"},
                        Types{"bf16", "bf16", "fp32", "in=bf16 acc=fp32 out=fp32"},
                        Types{"int8", "int8", "int32", "in=int8 acc=int32 out=int32"},
                        Types{"int8", "int8", "fp32", "in=int8 acc=int32 out=fp32"}}) {
    if (!offers("linear", t.contract)) continue;
    for (const Index pad : {0, 3})
      for (const Index rows : {1, 2, 17}) {
        const Index in = 3, out = 5;
        std::vector<double> x, w, b, y;
        for (Index i = 0; i < rows * in; ++i) x.push_back(static_cast<double>(i % 7 - 3));
        for (Index i = 0; i < in * out; ++i) w.push_back(static_cast<double>(i % 5 - 2));
        for (Index i = 0; i < out; ++i) b.push_back(static_cast<double>(i));
        for (Index i = 0; i < rows; ++i)
          for (Index j = 0; j < out; ++j) {
            double sum = b[static_cast<std::size_t>(j)];
            for (Index k = 0; k < in; ++k)
              sum += x[static_cast<std::size_t>(i * in + k)] * w[static_cast<std::size_t>(k * out + j)];
            y.push_back(sum);
          }
        const Reply r = call("linear", t.contract,
                             {tensor("x", t.in, {rows, in}, x, pad), tensor("w", t.in, {in, out}, w, pad),
                              tensor("b", t.bias, {out}, b)},
                             {tensor("y", t.out, {rows, out}, {}, pad)}, {{"bias", "given", 1}});
        ASSERT_OK(r) << t.contract << " rows " << rows << " pad " << pad;
        EXPECT_EQ(values(r.outputs[0]), y) << t.contract << " rows " << rows << " pad " << pad;
      }
  }
}

TEST_F(OneDnn, SoftmaxOfEqualLogitsIsExact) {
  for (const std::string f : {"fp32", "bf16"}) {
    const std::string contract = "in=" + f + " acc=fp32 out=" + f;
    if (!offers("softmax", contract)) continue;
    for (const Index n : {1, 2, 8, 64})
      for (const Index pad : {0, 5}) {
        const std::vector<double> x(static_cast<std::size_t>(3 * n), 2.5), p(x.size(), 1.0 / static_cast<double>(n));
        const Reply r = call("softmax", contract, {tensor("x", f, {3, n}, x, pad)}, {tensor("p", f, {3, n}, {}, pad)},
                             {{"empty_row", "nan", 1}});
        ASSERT_OK(r) << contract << " n " << n << " pad " << pad;
        EXPECT_EQ(values(r.outputs[0]), p) << contract << " n " << n << " pad " << pad;
      }
    // log p is computed without p: finite where p is 0.
    const Reply r = call("softmax", contract, {tensor("x", f, {2, 2}, {0, -256, -256, 0})},
                         {tensor("p", f, {2, 2}, {}), tensor("log_p", f, {2, 2}, {})});
    ASSERT_OK(r);
    EXPECT_EQ(values(r.outputs[0]), (std::vector<double>{1, 0, 0, 1}));
    const std::vector<double> log_p = values(r.outputs[1]);
    EXPECT_LT(log_p[1], -255);
    EXPECT_GT(log_p[1], -257);
    EXPECT_EQ(log_p[1], log_p[2]);
  }
}

TEST_F(OneDnn, SoftmaxOfAnEmptyRowIsNaN) {
  const double inf = HUGE_VAL;
  const Reply r =
      call("softmax", "in=fp32 acc=fp32 out=fp32", {tensor("x", "fp32", {2, 3}, {-inf, -inf, -inf, 1, 1, -inf})},
           {tensor("p", "fp32", {2, 3}, {})});
  ASSERT_OK(r);
  const std::vector<double> p = values(r.outputs[0]);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(p[i])) << p[i];
  EXPECT_EQ(p[3], 0.5);
  EXPECT_EQ(p[5], 0);
}

TEST_F(OneDnn, LayerNormOfSignsIsExact) {
  for (const std::string f : {"fp32", "bf16"}) {
    const std::string contract = "in=" + f + " acc=fp32 out=" + f;
    if (!offers("layer_norm", contract)) continue;
    // mean 0, variance 1, eps 3: half of x.
    std::vector<double> x, y;
    for (int i = 0; i < 3 * 8; ++i) {
      x.push_back(i % 2 ? 1 : -1);
      y.push_back(x.back() / 2 * (i % 8 + 1) + 10);
    }
    const Reply r = call("layer_norm", contract,
                         {tensor("x", f, {3, 8}, x), tensor("w", f, {8}, {1, 2, 3, 4, 5, 6, 7, 8}),
                          tensor("b", f, {8}, std::vector<double>(8, 10))},
                         {tensor("y", f, {3, 8}, {})}, {{"eps", "3", 3}});
    ASSERT_OK(r) << contract;
    EXPECT_EQ(values(r.outputs[0]), y) << contract;
  }
}

TEST_F(OneDnn, EmptyBatches) {
  ASSERT_OK(call("softmax", "in=fp32 acc=fp32 out=fp32", {tensor("x", "fp32", {0, 4}, {})},
                 {tensor("p", "fp32", {0, 4}, {})}));
  ASSERT_OK(call("linear", "in=fp32 acc=fp32 out=fp32",
                 {tensor("x", "fp32", {0, 4}, {}), tensor("w", "fp32", {4, 2}, std::vector<double>(8))},
                 {tensor("y", "fp32", {0, 2}, {})}));
}

TEST_F(OneDnn, SaysWhatItDoesNotOffer) {
  const auto why = [&](const std::string& op, std::vector<TensorBytes> out, std::vector<RequestOption> options = {}) {
    const Reply r = call(op, "in=fp32 acc=fp32 out=fp32", {tensor("x", "fp32", {2, 2}, {1, 2, 3, 4})}, std::move(out),
                         std::move(options));
    return std::string(to_string(r.kind)) + ": " + r.message;
  };
  EXPECT_EQ(why("rms_norm", {tensor("y", "fp32", {2, 2}, {})}), "not supported: oneDNN has no op rms_norm");
  EXPECT_EQ(why("softmax", {tensor("lse", "fp32", {2}, {})}), "not supported: output lse is not offered");
  EXPECT_EQ(why("softmax", {tensor("p", "fp32", {2, 2}, {})}, {{"mask", "given", 1}}),
            "not supported: option mask=given is not offered");
  EXPECT_EQ(why("softmax", {tensor("p", "fp64", {2, 2}, {})}),
            "error: oneDNN: tensor p is fp64 [2, 2] strides [2, 1], expected fp32");
  EXPECT_EQ(why("linear", {tensor("y", "fp32", {2, 2}, {})}), "error: oneDNN: the call lacks tensor w");
}

TEST_F(OneDnn, RefusesShapesThatDoNotFit) {
  const TensorBytes x = tensor("x", "fp32", {2, 3}, std::vector<double>(6)), y = tensor("y", "fp32", {2, 4}, {});
  const auto why = [&](const std::string& op, std::vector<TensorBytes> in, const TensorBytes& out) {
    in.insert(in.begin(), x);
    const Reply r = call(op, "in=fp32 acc=fp32 out=fp32", in, {out},
                         op == "softmax" ? std::vector<RequestOption>{}
                                         : std::vector<RequestOption>{{op == "linear" ? "bias" : "eps", "1", 1}});
    return std::string(to_string(r.kind)) + ": " + r.message;
  };
  const TensorBytes w = tensor("w", "fp32", {3, 4}, std::vector<double>(12));
  const auto vector = [](const char* name, Index n) {
    return tensor(name, "fp32", {n}, std::vector<double>(static_cast<std::size_t>(n)));
  };
  EXPECT_EQ(why("linear", {w, vector("b", 4)}, y).substr(0, 2), "ok");
  EXPECT_EQ(why("linear", {w, vector("b", 5)}, y), "error: oneDNN: tensor b is fp32 [5] strides [1], expected [4]");
  EXPECT_EQ(why("linear", {tensor("w", "fp32", {4, 4}, std::vector<double>(16))}, y),
            "error: oneDNN: tensor w is fp32 [4, 4] strides [4, 1], expected [3, 4]");
  const TensorBytes out = tensor("y", "fp32", {2, 3}, {});
  EXPECT_EQ(why("layer_norm", {vector("w", 3), vector("b", 3)}, out).substr(0, 2), "ok");
  EXPECT_EQ(why("layer_norm", {vector("w", 4), vector("b", 3)}, out),
            "error: oneDNN: tensor w is fp32 [4] strides [1], expected [3]");
  EXPECT_EQ(why("layer_norm", {vector("w", 3), vector("b", 2)}, out),
            "error: oneDNN: tensor b is fp32 [2] strides [1], expected [3]");
  EXPECT_EQ(why("softmax", {}, tensor("p", "fp32", {2, 2}, {})),
            "error: oneDNN: tensor p is fp32 [2, 2] strides [2, 1], expected [2, 3]");
}

TEST_F(OneDnn, CapabilityFileMatchesThePlugin) {
  Capability c = read_capability(std::string(ASSAY_SOURCE_DIR) + "/tools/plugins/onednn/onednn.yaml");
  c.plugin = ASSAY_ONEDNN;
  int offered = 0;
  for (const Offered& o : ask(c, worker_)) {
    EXPECT_NO_THROW(parse_contract(o.contract)) << o.contract;
    offered += o.offered;
    if (std::getenv("ASSAY_PRINT_OFFERS"))
      std::printf("%s %s: %s\n", o.op.c_str(), o.contract.c_str(), o.offered ? "offered" : o.reason.c_str());
    if (!o.offered) {
      EXPECT_NE(o.reason, "");
    }
  }
  EXPECT_GE(offered, 3);
}

}  // namespace
}  // namespace assay
