#include "gpu/target/launch/launch_file.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "gpu/target/launch/keys.hpp"

namespace assay {
namespace {

const char* const good = R"yaml(op: rms_norm
contracts: [fp32]
options: {eps: any, gain: [w, one_plus_w]}
require: ["d <= 64"]
scratch: {sums: 4 * T}
launches:
  - entry: squares
    grid: [ceil(T / 2), 1]
    block: [32, 2]
    params: [x, sums, {i32: T}, {i64: "stride(x, 0)"}]
  - entry: scale
    grid: [T]
    block: ["max(32, d)"]
    shared: 4 * d
    when: T > 1
    params: [x, w, sums, y, {f32: eps}, {i32: "is(gain, one_plus_w)"}]
)yaml";

#define EXPECT_MISTAKE(text, part)                                              \
  try {                                                                         \
    parse_launch_file(text, "dir/k.yaml");                                      \
    ADD_FAILURE() << "accepted";                                                \
  } catch (const Error& e) {                                                    \
    EXPECT_NE(std::string::npos, std::string(e.what()).find(part)) << e.what(); \
  }

std::string with(const std::string& from, const std::string& to) {
  std::string text = good;
  const auto at = text.find(from);
  EXPECT_NE(std::string::npos, at) << from;
  return text.replace(at, from.size(), to);
}

/// Keeps the launches.
class Recorder : public gpu::Device {
 public:
  std::string name() const override { return "recorder"; }
  std::string arch() const override { return "sm_80"; }
  bool checks() const override { return false; }
  std::uint64_t allocate(std::uint64_t bytes) override { return allocated.push_back(bytes), 4096 * allocated.size(); }
  void free(std::uint64_t) override {}
  void write(std::uint64_t, const void*, std::uint64_t) override {}
  void read(std::uint64_t, void*, std::uint64_t, std::vector<std::uint8_t>*) const override {}
  int load(const std::string&) override { return 0; }
  gpu::Report launch(int, const gpu::Launch& launch, const gpu::Options&) override {
    launches.push_back(launch);
    return {};
  }
  std::vector<std::uint64_t> allocated;
  std::vector<gpu::Launch> launches;
};

gpu::DeviceCall call_of(std::int64_t T, std::int64_t d) {
  const Format* const f = &format("fp32");
  return {"rms_norm",
          parse_contract("fp32"),
          {1e-5, 0, 1, 0},
          {{"x", f, {T, d}, {d, 1}, 0x1000}, {"w", f, {d}, {1}, 0x2000}},
          {{"y", f, {T, d}, {d, 1}, 0x3000}}};
}

template <class T>
T at(const gpu::Launch& launch, std::size_t offset) {
  T value;
  std::memcpy(&value, launch.params.data() + offset, sizeof value);
  return value;
}

TEST(LaunchFile, SaysHowACallIsLaunched) {
  const gpu::Kernel kernel = kernel_of(parse_launch_file(good, "k.yaml"));
  Recorder device;
  gpu::Launcher launcher(device, 0, {});
  kernel.run(call_of(5, 48), launcher);
  ASSERT_EQ(2u, device.launches.size());
  EXPECT_EQ((std::vector<std::uint64_t>{20}), device.allocated);
  const gpu::Launch &first = device.launches[0], &second = device.launches[1];
  EXPECT_EQ(3u, first.grid.x);
  EXPECT_EQ(32u, first.block.x);
  EXPECT_EQ(2u, first.block.y);
  EXPECT_EQ(0x1000u, at<std::uint64_t>(first, 0));
  EXPECT_EQ(4096u, at<std::uint64_t>(first, 8));
  EXPECT_EQ(5, at<std::int32_t>(first, 16));
  EXPECT_EQ(48, at<std::int64_t>(first, 24));  // aligned to 8
  EXPECT_EQ(32u, first.params.size());
  EXPECT_EQ("scale", second.kernel);
  EXPECT_EQ(48u, second.block.x);
  EXPECT_EQ(192u, second.dynamic_shared);
  EXPECT_EQ(1e-5f, at<float>(second, 32));
  EXPECT_EQ(1, at<std::int32_t>(second, 36));
}

TEST(LaunchFile, WhatItDoesNotTakeIsNotOffered) {
  const gpu::Kernel kernel = kernel_of(parse_launch_file(good, "k.yaml"));
  EXPECT_EQ("", kernel.lacks({0.5, 0, 1, 0}));
  EXPECT_EQ("eps_place=outside", kernel.lacks({0.5, 1, 1, 0}));
  Recorder device;
  gpu::Launcher launcher(device, 0, {});
  EXPECT_THROW(kernel.run(call_of(5, 65), launcher), gpu::NotTaken);
  gpu::DeviceCall strided = call_of(5, 48);
  strided.inputs[0].strides = {51, 1};
  EXPECT_THROW(kernel.run(strided, launcher), gpu::NotTaken);
  kernel.run(call_of(1, 48), launcher);  // the second launch only for T > 1
  EXPECT_EQ(1u, device.launches.size());
}

TEST(LaunchFile, SizesThatAreNoneAreFailuresOfTheLaunch) {
  Recorder device;
  gpu::Launcher launcher(device, 0, {});
  for (const std::string& text : {with("max(32, d)", "d / 7"), with("4 * T}", "4 * T * 1000000000}"),
                                  with("max(32, d)", "0"), with("{i32: T}", "{i32: T / 0}")})
    EXPECT_THROW(kernel_of(parse_launch_file(text, "k.yaml")).run(call_of(5, 48), launcher), gpu::LaunchFailed) << text;
}

TEST(LaunchFile, MistakesHaveLines) {
  EXPECT_MISTAKE(with("op: rms_norm", "op: rms_nrom"), "dir/k.yaml:1: op: ");
  EXPECT_MISTAKE(with("[fp32]", "[fp33]"), "dir/k.yaml:2: contracts");
  EXPECT_MISTAKE(with("gain: [w", "gain: [v"), "dir/k.yaml:3: options.gain: no such value");
  EXPECT_MISTAKE(with("d <= 64", "dd <= 64"), "no such size or option of op rms_norm: expected T, d, eps");
  EXPECT_MISTAKE(with("ceil(T / 2)", "ceil(T / 2"), "dir/k.yaml:8: launches.grid: cannot read the expression");
  EXPECT_MISTAKE(with("stride(x, 0)", "stride(x, 2)"), "no such tensor or size");
  EXPECT_MISTAKE(with("one_plus_w)", "plus)"), "no such value of option gain");
  EXPECT_MISTAKE(with("params: [x, sums", "params: [x, sum"), "has no tensor \"sum\"");
  EXPECT_MISTAKE(with("{i32: T}", "{i31: T}"), "expected one of i32, i64, f32, f64");
  EXPECT_MISTAKE(with("    block: [32, 2]\n", ""), "block");
  EXPECT_MISTAKE(with("[32, 2]", "[32, 2, 1, 1]"), "one to three sizes");
  EXPECT_MISTAKE(with("\"max(32, d)\"", "max(32, d)"), "an expression with a comma stands in quotes");
}

TEST(LaunchFile, RefusesHostileFiles) {
  EXPECT_MISTAKE("a: &a [1, 2]\nb: *a\n", "launch files do not have an anchor");
  EXPECT_MISTAKE(with("max(32, d)", std::string(200, '(') + "d" + std::string(200, ')')), "expression");
  EXPECT_MISTAKE(with("max(32, d)", std::string(90, '-') + "d"), "at most 32 levels");
  EXPECT_MISTAKE(with("max(32, d)", "d" + std::string(500, ' ') + "+ 1"), "400 characters");
  EXPECT_MISTAKE(with("max(32, d)", "system(d)"), "ceil, floor");
  // Cut anywhere, and with any byte replaced: read or refused, never anything else.
  const std::string text = good;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (std::string damaged : {text.substr(0, i), text.substr(0, i) + "[" + text.substr(i + 1)}) {
      try {
        parse_launch_file(damaged, "k.yaml");
      } catch (const Error&) {
      }
    }
  }
}

void compare(const nlohmann::json& schema, const std::string& record) {
  std::set<std::string> properties, required(schema.at("required").begin(), schema.at("required").end());
  for (const auto& item : schema.at("properties").items()) properties.insert(item.key());
  const spec::Keys& keys = launch_keys(record);
  std::set<std::string> known(keys.required.begin(), keys.required.end());
  EXPECT_EQ(required, known) << record;
  known.insert(keys.optional.begin(), keys.optional.end());
  EXPECT_EQ(properties, known) << record;
}

TEST(LaunchFile, SchemaSaysTheSame) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/gpu/target/launch/launch.schema.json");
  const nlohmann::json schema = nlohmann::json::parse(file);
  compare(schema, "file");
  compare(schema.at("$defs").at("launch"), "launch");
  std::set<std::string> types;
  const auto& numbers = schema.at("$defs").at("launch").at("properties").at("params").at("items").at("anyOf").at(1);
  for (const auto& item : numbers.at("properties").items()) types.insert(item.key());
  EXPECT_EQ(types, std::set<std::string>(number_types().begin(), number_types().end()));
}

}  // namespace
}  // namespace assay
