#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "conformance/engine/capability/capability.hpp"
#include "conformance/engine/worker/worker.hpp"
#include "reference/core/format.hpp"

// The templates, on inputs whose results are exact, and their 16-bit rounding against the number formats.
namespace assay {
namespace {

TensorBytes tensor(const std::string& name, const std::string& dtype, const Shape& shape,
                   const std::vector<double>& values) {
  TensorBytes b{name, dtype, shape, dense_strides(shape), {}};
  const int width = dtype == "bool" ? 1 : format(dtype).bits / 8;
  for (const double v : values) {
    const std::uint64_t code = encode(format(dtype), v);
    for (int i = 0; i < width; ++i) b.bytes.push_back(static_cast<std::byte>(code >> (8 * i) & 0xFF));
  }
  return b;
}

std::vector<double> values(const TensorBytes& b) {
  const auto width = static_cast<std::size_t>(format(b.dtype).bits / 8);
  std::vector<double> v;
  for (std::size_t at = 0; at < b.bytes.size(); at += width) {
    std::uint64_t code = 0;
    std::memcpy(&code, &b.bytes[at], width);
    v.push_back(decode(format(b.dtype), code));
  }
  return v;
}

struct Plugin {
  const char *name, *format;
};
void PrintTo(const Plugin& p, std::ostream* os) { *os << p.name << " " << p.format; }

class Template : public testing::TestWithParam<Plugin> {
 protected:
  Reply call(const std::string& op, std::vector<TensorBytes> inputs, std::vector<TensorBytes> outputs,
             std::vector<RequestOption> options = {}) {
    Request r;
    r.target = std::string("plugin:") + ASSAY_PLUGINS + "/" + GetParam().name + ".so";
    r.op = op;
    r.contract = std::string("in=") + GetParam().format + " acc=fp32 out=" + GetParam().format;
    r.options = std::move(options);
    r.inputs = std::move(inputs);
    r.outputs = std::move(outputs);
    return worker_.call(r);
  }
  Worker worker_;
};

TEST_P(Template, Softmax) {
  const std::string f = GetParam().format;
  const double inf = HUGE_VAL;
  const Reply r = call("softmax",
                       {tensor("x", f, {4, 4}, {1, 1, 1, 1, 2, -inf, 2, 5, -inf, -inf, 3, -inf, 0, 0, NAN, 0}),
                        tensor("mask", "bool", {4, 4}, {1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1})},
                       {tensor("p", f, {4, 4}, {}), tensor("log_p", f, {4, 4}, {}), tensor("lse", "fp32", {4}, {})},
                       {{"mask", "given", 1}});
  ASSERT_STREQ(to_string(r.kind), "ok") << r.message;
  const std::vector<double> p = values(r.outputs[0]), log_p = values(r.outputs[1]), lse = values(r.outputs[2]);
  const std::vector<double> expected = {0.25, 0.25, 0.25, 0.25, 0.5, 0, 0.5, 0, 0, 0, 0, 0};
  EXPECT_EQ(std::vector<double>(p.begin(), p.begin() + 12), expected);
  for (std::size_t i = 12; i < 16; ++i) EXPECT_TRUE(std::isnan(p[i]));
  EXPECT_EQ(log_p[5], -inf);
  EXPECT_EQ(log_p[8], -inf);
  EXPECT_EQ(lse[2], -inf);
  EXPECT_TRUE(std::isnan(lse[3]));
}

TEST_P(Template, RmsNorm) {
  const std::string f = GetParam().format;
  const Reply r =
      call("rms_norm", {tensor("x", f, {2, 4}, {1, -1, 1, -1, 0, 0, 0, 0}), tensor("w", f, {4}, {1, 2, 3, 4})},
           {tensor("y", f, {2, 4}, {})}, {{"eps", "3", 3}});
  ASSERT_STREQ(to_string(r.kind), "ok") << r.message;
  EXPECT_EQ(values(r.outputs[0]), (std::vector<double>{0.5, -1, 1.5, -2, 0, 0, 0, 0}));
}

TEST_P(Template, SaysNo) {
  const std::string f = GetParam().format;
  EXPECT_STREQ(to_string(call("linear", {}, {}).kind), "not supported");
  EXPECT_STREQ(
      to_string(
          call("softmax", {tensor("x", f, {1, 1}, {1})}, {tensor("p", f, {1, 1}, {})}, {{"sink", "logit", 1}}).kind),
      "not supported");
  EXPECT_STREQ(to_string(call("softmax", {}, {tensor("p", f, {1, 1}, {})}).kind), "error");
  EXPECT_STREQ(to_string(call("softmax", {tensor("x", "fp64", {1, 1}, {1})}, {tensor("p", f, {1, 1}, {})}).kind),
               "not supported");
}

TEST_P(Template, RefusesShapesThatDoNotFit) {
  const std::string f = GetParam().format;
  const TensorBytes x = tensor("x", f, {2, 2}, {1, 2, 3, 4});
  EXPECT_STREQ(to_string(call("softmax", {x}, {tensor("p", f, {2, 3}, {})}).kind), "error");
  EXPECT_STREQ(to_string(call("softmax", {x, tensor("mask", "bool", {3, 2}, std::vector<double>(6, 1))},
                              {tensor("p", f, {2, 2}, {})}, {{"mask", "given", 1}})
                             .kind),
               "error");
  EXPECT_STREQ(to_string(call("softmax", {tensor("x", f, {4}, {1, 2, 3, 4})}, {tensor("p", f, {4}, {})}).kind),
               "error");
  EXPECT_STREQ(
      to_string(
          call("rms_norm", {x, tensor("w", f, {3}, {1, 1, 1})}, {tensor("y", f, {2, 2}, {})}, {{"eps", "0", 0}}).kind),
      "error");
}

TEST_P(Template, CapabilityFileIsReadAndThePluginLoads) {
  const Capability c = read_capability(std::string(ASSAY_PLUGINS) + "/" + GetParam().name + ".yaml");
  const std::vector<Offered> all = ask(c, worker_);
  EXPECT_GE(all.size(), 2u);
  for (const Offered& o : all) EXPECT_TRUE(o.offered);
}

INSTANTIATE_TEST_SUITE_P(All, Template,
                         testing::Values(Plugin{"template", "fp32"}, Plugin{"template_cpp", "fp32"},
                                         Plugin{"template_cpp", "fp16"}, Plugin{"template_cpp", "bf16"}));

// x = 1, eps = 0: y is w, rounded from fp32. Every code, and around every midpoint.
TEST(TemplateRounding, IsToNearestEven) {
  Worker worker;
  for (const char* name : {"fp16", "bf16"}) {
    const Format& f = format(name);
    std::vector<double> w;
    for (std::uint64_t code = 0; code < 65536; ++code) {
      const auto v = static_cast<float>(decode(f, code));
      w.push_back(v);
      if (!std::isfinite(v)) continue;
      const auto middle = static_cast<float>(v + std::copysign(ulp(f, v) / 2, v));
      for (const float m : {std::nextafter(middle, -HUGE_VALF), middle, std::nextafter(middle, HUGE_VALF)})
        w.push_back(m);
    }
    const auto n = static_cast<Index>(w.size());
    Request r;
    r.target = std::string("plugin:") + ASSAY_PLUGINS + "/template_cpp.so";
    r.op = "rms_norm";
    r.options = {{"eps", "0", 0}};
    r.inputs = {tensor("x", "fp32", {1, n}, std::vector<double>(w.size(), 1)), tensor("w", "fp32", {n}, w)};
    r.outputs = {tensor("y", name, {1, n}, {})};
    const Reply reply = worker.call(r);
    ASSERT_STREQ(to_string(reply.kind), "ok") << reply.message;
    const std::vector<double> y = values(reply.outputs[0]);
    int wrong = 0;
    for (std::size_t i = 0; i < w.size() && wrong < 5; ++i) {
      const double expected = round_to(f, w[i]);
      if (std::isnan(expected) ? std::isnan(y[i]) : expected == y[i] && std::signbit(expected) == std::signbit(y[i]))
        continue;
      ++wrong;
      ADD_FAILURE() << name << ": " << w[i] << " became " << y[i] << ", expected " << expected;
    }
  }
}

}  // namespace
}  // namespace assay
