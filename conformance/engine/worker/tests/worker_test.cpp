#include <gtest/gtest.h>
#include <stddef.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "conformance/abi/plugin.h"
#include "conformance/engine/worker/dtype.hpp"
#include "conformance/engine/worker/layout.hpp"
#include "conformance/engine/worker/tests/request.hpp"

namespace assay::test {
namespace {

TEST(Abi, HasTheLayoutOfDLPack) {
  EXPECT_EQ(sizeof(assay_tensor), 48u);
  EXPECT_EQ(offsetof(assay_tensor, data), 0u);
  EXPECT_EQ(offsetof(assay_tensor, device), 8u);
  EXPECT_EQ(offsetof(assay_tensor, ndim), 16u);
  EXPECT_EQ(offsetof(assay_tensor, dtype), 20u);
  EXPECT_EQ(offsetof(assay_tensor, shape), 24u);
  EXPECT_EQ(offsetof(assay_tensor, strides), 32u);
  EXPECT_EQ(offsetof(assay_tensor, byte_offset), 40u);
  EXPECT_EQ(abi_dtype("bf16").code, 4);
  EXPECT_EQ(abi_dtype("e4m3").code, 10);
  EXPECT_EQ(abi_dtype("e2m1").bits, 4);
  EXPECT_EQ(abi_dtype("bool").bits, 8);
  EXPECT_THROW(abi_dtype("float"), Error);
}

TEST(Worker, PassesNamesOptionsDtypesAndStrides) {
  Worker worker(program());
  Request r = request("echo");
  r.options = {{"mask", "given", 1}, {"eps", "1e-05", 1e-5}};
  r.inputs = {buffer("x", {1, 3}, {1, 2, 3}, {-0 + 12345, 1})};
  r.inputs.push_back({"mask", "bool", {2}, {1}, std::vector<std::byte>(2)});
  const Reply reply = worker.call(r);
  EXPECT_EQ(reply.message,
            "in=fp32 acc=fp32 out=fp32|mask=given:1.000000|eps=1e-05:0.000010|x:2/32:2:12345|mask:6/8:1:1|");
}

TEST(Worker, StridedTensorsKeepTheirGaps) {
  Worker worker(program());
  for (const Guard guard : {Guard::after, Guard::before}) {
    Request r = request("copy", guard);
    r.inputs = {buffer("x", {2, 3}, {1, 2, 3, 4, 5, 6}, {1, 2})};  // columns first
    r.outputs = {buffer("y", {2, 3}, {}, {7, 2})};
    const Reply reply = worker.call(r);
    ASSERT_STREQ(to_string(reply.kind), "ok") << reply.message;
    const std::vector<float> y = floats(reply.outputs[0]);
    ASSERT_EQ(y.size(), 12u);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        EXPECT_EQ(y[static_cast<std::size_t>(i * 7 + j * 2)], static_cast<float>(i * 3 + j + 1));
    EXPECT_TRUE(std::isnan(y[1]));  // poison
    EXPECT_TRUE(untouched(reply.outputs[0], r.poison).empty());
  }
}

TEST(Worker, UnwrittenElementsAreTold) {
  Worker worker(program());
  Request r = request("leave_one");
  Reply reply = worker.call(r);
  EXPECT_EQ(untouched(reply.outputs[0], kPoison), std::vector<Index>{2});
  r.poison = kOtherPoison;  // the element was written by chance with what was there: the other pattern tells
  reply = worker.call(r);
  EXPECT_TRUE(untouched(reply.outputs[0], kOtherPoison).empty());
}

TEST(Worker, SameAddressesWithFreshContents) {
  Worker worker(program());
  Request r = request("cached_by_address");
  ASSERT_STREQ(to_string(worker.call(r).kind), "ok");
  r.inputs = {buffer("x", {2, 3}, {9, 9, 9, 9, 9, 9})};
  const Reply reply = worker.call(r);
  // The plugin falls into the trap only because x lies where it lay before.
  EXPECT_EQ(floats(reply.outputs.at(0)), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(Worker, EmptyTensorsAndScalars) {
  Worker worker(program());
  for (const Guard guard : {Guard::after, Guard::before}) {
    Request r = request("copy", guard);
    r.inputs = {buffer("x", {0, 3})};
    r.outputs = {buffer("y", {0, 3})};
    EXPECT_STREQ(to_string(worker.call(r).kind), "ok");
    r.op = "read_after";
    const Reply reply = worker.call(r);
    EXPECT_STREQ(to_string(reply.kind), "stray access");
    EXPECT_EQ(reply.message, "read an element of input x, which has none");
    r = request("copy", guard);
    r.inputs = {buffer("x", {}, {5})};
    r.outputs = {buffer("y", {})};
    EXPECT_EQ(floats(worker.call(r).outputs.at(0)), std::vector<float>{5});
  }
}

TEST(Worker, SizesGrowAndShrink) {
  Worker worker(program());
  for (const Index n : {1, 1000, 5, 300000, 2, 1024, 1025}) {
    std::vector<float> values(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    Request r = request("copy");
    r.inputs = {buffer("x", {n}, values)};
    r.outputs = {buffer("y", {n})};
    ASSERT_EQ(floats(worker.call(r).outputs.at(0)), values);
    r.op = "read_after";
    const Reply reply = worker.call(r);
    EXPECT_EQ(reply.message, "read 1 byte beyond the end of input x") << n;
  }
}

TEST(Worker, PackedTypesEndAtTheGuardToo) {
  Worker worker(program());
  Request r = request("sub_bytes");
  r.inputs = {{"x", "e2m1", {5}, {1}, {std::byte{0x21}, std::byte{0x43}, std::byte{0x05}}}};
  r.outputs = {{"y", "e2m1", {5}, {1}, {}}};
  EXPECT_EQ(worker.call(r).outputs.at(0).bytes, r.inputs[0].bytes);
  r.inputs[0].bytes.pop_back();
  EXPECT_THROW(worker.call(r), Error);
}

TEST(Worker, AlignmentIsKeptAndItsGapGuarded) {
  Worker worker(program());
  Request r = request("copy");
  r.alignment = 64;
  r.inputs = {buffer("x", {5}, {1, 2, 3, 4, 5})};
  r.outputs = {buffer("y", {5})};
  EXPECT_STREQ(to_string(worker.call(r).kind), "ok");
  r.op = "write_after";
  EXPECT_EQ(worker.call(r).message, "wrote 1 byte beyond the end of output y");
  r.alignment = 48;
  EXPECT_THROW(worker.call(r), Error);
}

TEST(Worker, BuiltinsRunInTheWorker) {
  Worker worker(program());
  Request r = request("anything");
  r.target = "subject:double";
  r.inputs = {buffer("x", {3}, {1, 2, 3})};
  r.outputs = {buffer("y", {3})};
  EXPECT_EQ(floats(worker.call(r).outputs.at(0)), (std::vector<float>{2, 4, 6}));
  r.target = "subject:nobody";
  EXPECT_EQ(worker.call(r).message, "unknown builtin 'subject:nobody'");
  r.target = "subject:throws";
  EXPECT_EQ(worker.call(r).message, "let an exception escape: no such subject");
}

TEST(Worker, SaysWhyAPluginCannotBeLoaded) {
  Worker worker(program());
  const auto why = [&](const std::string& target) {
    const Reply reply = worker.load(target);
    return std::string(to_string(reply.kind)) + ": " + reply.message;
  };
  EXPECT_NE(why("plugin:nowhere.so").find("not loaded: plugin cannot be read"), std::string::npos);
  EXPECT_NE(why(plugin("other_abi")).find("expected 1, found 99"), std::string::npos);
  EXPECT_NE(why(plugin("lacks_run")).find("symbol assay_plugin_run"), std::string::npos);
  EXPECT_EQ(why(plugin("crashes_when_loaded")), "crashed: crashed: SIGABRT");
  const std::string text = testing::TempDir() + "not_elf.so";
  std::ofstream(text) << "#!/bin/sh\n";
  EXPECT_NE(why("plugin:" + text).find("plugin is not a shared library"), std::string::npos);
  std::ofstream(text) << "\177ELF and no more";
  EXPECT_NE(why("plugin:" + text).find("plugin cannot be loaded"), std::string::npos);
  std::remove(text.c_str());
  Request r = request("copy");
  r.target = "plugin:nowhere.so";
  EXPECT_STREQ(to_string(worker.call(r).kind), "not loaded");
}

TEST(Worker, AsksThePlugin) {
  Worker worker(program());
  PluginInfo info;
  ASSERT_STREQ(to_string(worker.load(plugin("misbehaving"), &info).kind), "ok");
  EXPECT_EQ(info.version, "13.0-test");
  EXPECT_TRUE(info.can_be_asked);
  EXPECT_STREQ(to_string(worker.offers(plugin("misbehaving"), "softmax", "in=fp32").kind), "ok");
  const Reply no = worker.offers(plugin("misbehaving"), "softmax", "in=bf16");
  EXPECT_STREQ(to_string(no.kind), "not supported");
  EXPECT_EQ(no.message, "this CPU has no bf16");
  EXPECT_STREQ(to_string(worker.offers(plugin("misbehaving"), "crash_when_asked", "").kind), "crashed");
}

TEST(Worker, RefusesRequestsThatCannotBeMade) {
  Worker worker(program());
  Request r = request("copy");
  r.inputs[0].dtype = "float";
  EXPECT_THROW(worker.call(r), Error);
  r = request("copy");
  r.inputs[0].strides = {3};
  EXPECT_THROW(worker.call(r), Error);
  r = request("copy");
  r.inputs[0].strides = {-3, 1};
  EXPECT_THROW(worker.call(r), Error);
  r = request("copy");
  r.outputs[0].strides = {1, 1};  // overlap
  EXPECT_THROW(worker.call(r), Error);
  r = request("copy");
  r.op = std::string(1 << 20, 'x');
  EXPECT_THROW(worker.call(r), Error);
  EXPECT_STREQ(to_string(worker.call(request("copy")).kind), "ok");
  EXPECT_THROW(Worker(Program{"/nonexistent/assay_worker", 0, 1}).call(request("copy")), Error);
  EXPECT_THROW(Worker(Program{"/bin/true", 0, 1}).call(request("copy")), Error);
}

TEST(Worker, BesideTheProgramIsTheDefault) {
  Worker worker;  // assay_worker, as installed
  EXPECT_STREQ(to_string(worker.call(request("copy")).kind), "ok");
  Request r = request("copy");
  r.target = "subject:no_such_op";
  const Reply reply = worker.call(r);
  EXPECT_STREQ(to_string(reply.kind), "error");
  EXPECT_NE(reply.message.find("no_such_op"), std::string::npos) << reply.message;
}

TEST(Layout, PlacesAgainstTheGuard) {
  EXPECT_EQ(place(20, 4096, 0, Guard::after), 4076u);
  EXPECT_EQ(place(20, 4096, 64, Guard::after), 4032u);
  EXPECT_EQ(place(20, 4096, 64, Guard::before), 0u);
  EXPECT_EQ(place(0, 4096, 64, Guard::before), 4096u);
  EXPECT_EQ(span_bytes(buffer("x", {2, 3}, {}, {10, 2})), 60u);
  EXPECT_EQ(span_bytes(buffer("x", {1, 3}, {}, {999, 2})), 20u);
}

// Not a limit of time but the figure itself: `--gtest_filter=*RoundTrip*`.
TEST(Worker, RoundTrip) {
  Worker worker(program());
  const Request r = request("copy");
  worker.call(r);
  const int n = 2000;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < n; ++i) ASSERT_STREQ(to_string(worker.call(r).kind), "ok");
  const double us = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / n * 1e6;
  RecordProperty("microseconds", std::to_string(us));
  if (std::getenv("ASSAY_PRINT_TIMES")) std::printf("round trip: %.1f microseconds\n", us);
  EXPECT_EQ(worker.processes_started(), 1);
}

}  // namespace
}  // namespace assay::test
