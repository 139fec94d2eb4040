// What a target makes of what a device says, with a device that does what a test wants.
#include "gpu/target/device_target.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "conformance/engine/case.hpp"
#include "conformance/engine/fill.hpp"

namespace assay {
namespace {

using gpu::DeviceCall;
using gpu::DeviceTensor;
using gpu::Launcher;
using gpu::NotTaken;

/// Memory of the host; a launch calls a function and reports what the test put in.
class FakeDevice : public gpu::Device {
 public:
  std::string name() const override { return "fake"; }
  std::string arch() const override { return "sm_80"; }
  bool checks() const override { return true; }
  std::uint64_t allocate(std::uint64_t bytes) override {
    auto block = std::make_unique<std::byte[]>(bytes);
    const auto address = reinterpret_cast<std::uint64_t>(block.get());
    blocks_[address] = std::move(block);
    return address;
  }
  void free(std::uint64_t address) override { blocks_.erase(address); }
  void write(std::uint64_t address, const void* from, std::uint64_t bytes) override {
    std::memcpy(reinterpret_cast<void*>(address), from, bytes);
  }
  void read(std::uint64_t address, void* to, std::uint64_t bytes, std::vector<std::uint8_t>* defined) const override {
    std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
    defined->assign(bytes, 1);
    if (undefined_byte >= 0 && undefined_byte < static_cast<int>(bytes))
      (*defined)[static_cast<std::size_t>(undefined_byte)] = 0;
  }
  int load(const std::string& ptx) override {
    if (ptx == "bad") throw Error("line 3: no such instruction");
    return 0;
  }
  gpu::Report launch(int, const gpu::Launch& launch, const gpu::Options& options) override {
    launches.push_back(launch);
    seeds.push_back(options.seed);
    return report;
  }

  gpu::Report report;
  std::vector<gpu::Launch> launches;
  std::vector<std::uint64_t> seeds;
  int undefined_byte = -1;

 private:
  std::map<std::uint64_t, std::unique_ptr<std::byte[]>> blocks_;
};

/// y = x, element by element on the host, for op rms_norm in fp32 with gain w alone.
void copy(const DeviceCall& call, Launcher& launcher) {
  launcher.launch("copy", {1}, {32}, 0, std::vector<std::uint8_t>{1, 2, 3});
  const DeviceTensor &x = call["x"], &y = call["y"];
  for (std::int64_t t = 0; t < x.size(0); ++t)
    for (std::int64_t i = 0; i < x.size(1); ++i)
      reinterpret_cast<float*>(y.address)[t * y.stride(0) + i * y.stride(1)] =
          reinterpret_cast<const float*>(x.address)[t * x.stride(0) + i * x.stride(1)];
}

std::string no_lack(const std::vector<double>&) { return ""; }

struct Bench {
  gpu::Kernel kernel{"rms_norm", "test/copy_sm80", {"fp32"}, false, &no_lack, &copy, {}, {}};
  FakeDevice* device = nullptr;
  std::unique_ptr<DeviceTarget> target;

  DeviceTarget& make(const std::string& ptx = "") {
    auto owned = std::make_unique<FakeDevice>();
    device = owned.get();
    target =
        std::make_unique<DeviceTarget>("fake", std::move(owned), std::vector<OfferedKernel>{{&kernel, ptx}}, Manner{});
    return *target;
  }
};

Call example(const std::string& text = "T=3 d=5") {
  static const Space space(page("norm.rms"));
  return make_call(Case::parse(space, text), parse_contract("fp32"));
}

TEST(DeviceTarget, TensorsGoToTheDeviceAndComeBackInEveryLayout) {
  Bench bench;
  DeviceTarget& target = bench.make();
  const Call call = example();
  for (const bool strided : {false, true}) {
    Layout layout;
    layout.strided = strided;
    const Answer a = target.run(call, layout);
    ASSERT_EQ(Answer::Kind::ok, a.kind) << a.message;
    for (Index i = 0; i < 15; ++i) EXPECT_EQ(call["x"].at_flat(i), a.outputs["y"].at_flat(i));
    EXPECT_TRUE(a.unwritten.empty());
  }
  EXPECT_EQ((std::vector<std::uint8_t>{1, 2, 3}), bench.device->launches.at(0).params);
}

TEST(DeviceTarget, AFindingOfALaunchIsTheVerdictWithItsPlace) {
  Bench bench;
  DeviceTarget& target = bench.make();
  gpu::Finding f;
  f.rule = "race";
  f.says = "two warps write shared memory at 16";
  f.line = 120;
  f.source = "copy.cu:12";
  f.cta = {1, 2, 0};
  f.warp = 3;
  f.lane = 17;
  f.count = 4;
  bench.device->report.findings = {f};
  const Answer a = target.run(example(), {});
  EXPECT_EQ(Answer::Kind::broken, a.kind);
  EXPECT_EQ(
      "race in kernel copy: two warps write shared memory at 16 (PTX line 120, copy.cu:12, CTA (1, 2, 0), warp 3, lane "
      "17, 4 times)",
      a.message);
}

TEST(DeviceTarget, LintIsARemarkAndNoVerdict) {
  Bench bench;
  DeviceTarget& target = bench.make();
  gpu::Finding f;
  f.rule = "proxy";
  f.severity = gpu::Severity::lint;
  f.says = "the fence stands on the reader's side";
  f.line = 7;
  bench.device->report.findings = {f, f};
  EXPECT_EQ(Answer::Kind::ok, target.run(example(), {}).kind);
  EXPECT_EQ((std::vector<std::string>{"lint: proxy: the fence stands on the reader's side (PTX line 7)"}),
            target.remarks());
}

TEST(DeviceTarget, WritesToInputsAndBetweenElementsAreSeen) {
  Bench bench;
  bench.kernel.run = [](const DeviceCall& call, Launcher& launcher) {
    copy(call, launcher);
    *reinterpret_cast<float*>(call["w"].address) += 1;
  };
  Answer a = bench.make().run(example(), {});
  EXPECT_EQ(Answer::Kind::broken, a.kind);
  EXPECT_EQ("wrote input w", a.message);
  bench.kernel.run = [](const DeviceCall& call, Launcher& launcher) {
    copy(call, launcher);
    reinterpret_cast<float*>(call["y"].address)[5] = 0;  // behind the first row
  };
  Layout layout;
  layout.strided = true;
  a = bench.make().run(example(), layout);
  EXPECT_EQ(Answer::Kind::broken, a.kind);
  EXPECT_EQ("wrote between the elements of output y, at byte 20", a.message);
}

TEST(DeviceTarget, WhatIsNotWrittenOrComesFromNowhereIsSeen) {
  Bench bench;
  bench.kernel.run = [](const DeviceCall&, Launcher&) {};
  EXPECT_EQ((std::vector<std::string>{"y"}), bench.make().run(example(), {}).unwritten);
  bench.kernel.run = &copy;
  DeviceTarget& target = bench.make();
  bench.device->undefined_byte = 8;
  const Answer a = target.run(example(), {});
  EXPECT_EQ(Answer::Kind::broken, a.kind);
  EXPECT_NE(std::string::npos, a.message.find("depends on memory nothing wrote, at byte 8")) << a.message;
}

TEST(DeviceTarget, WhatAKernelDoesNotTakeIsNotOffered) {
  Bench bench;
  bench.kernel.lacks = [](const std::vector<double>& options) -> std::string {
    return options[2] == 0 ? "" : "gain=one_plus_w";
  };
  DeviceTarget& target = bench.make();
  const OpSpec& op = page_of_op("rms_norm").op;
  EXPECT_TRUE(target.offers_option(op, 2, 0));
  EXPECT_FALSE(target.offers_option(op, 2, 1));
  EXPECT_EQ(Answer::Kind::unsupported, target.run(example("T=3 d=5 gain=one_plus_w"), {}).kind);
  bench.kernel.run = [](const DeviceCall&, Launcher&) { throw NotTaken{"more than 4 columns"}; };
  const Answer a = target.run(example(), {});
  EXPECT_EQ(Answer::Kind::unsupported, a.kind);
  EXPECT_EQ("more than 4 columns", a.message);
  EXPECT_EQ(
      Answer::Kind::unsupported,
      target.run(make_call(Case::parse(Space(page("softmax.safe")), "T=1 n=2"), parse_contract("fp32")), {}).kind);
}

TEST(DeviceTarget, AWrongCallIsRefusedAndWrongPtxIsBroken) {
  Bench bench;
  DeviceTarget& target = bench.make();
  Call call = example();
  call.set("w", Tensor<double>(Shape{6}, 1.0));
  EXPECT_EQ(Answer::Kind::refused, target.run(call, {}).kind);
  const Answer a = bench.make("bad").run(example(), {});
  EXPECT_EQ(Answer::Kind::broken, a.kind);
  EXPECT_EQ("test/copy_sm80: line 3: no such instruction", a.message);
}

TEST(DeviceTarget, TheScheduleFollowsFromTheCall) {
  Bench bench;
  DeviceTarget& target = bench.make();
  for (const char* text : {"T=3 d=5", "T=3 d=6", "T=3 d=5"}) target.run(example(text), {});
  const auto& seeds = bench.device->seeds;
  EXPECT_EQ(seeds[0], seeds[2]);
  EXPECT_NE(seeds[0], seeds[1]);
}

}  // namespace
}  // namespace assay
