// Targets by their names: what is wrong with a name, and somebody's PTX on the machine.
#include <gtest/gtest.h>

#include "conformance/engine/case.hpp"
#include "conformance/engine/fill.hpp"
#include "conformance/engine/target.hpp"

namespace assay {
namespace {

const std::string examples = std::string(ASSAY_SOURCE_DIR) + "/gpu/examples/";

void expect_refused(const std::string& name, const std::string& part) {
  try {
    make_target(name);
    ADD_FAILURE() << name << " was accepted";
  } catch (const Error& e) {
    EXPECT_NE(std::string::npos, std::string(e.what()).find(part)) << e.what();
  }
}

TEST(Targets, WrongNamesSayWhatIsExpected) {
  expect_refused("ptx:sm_81", "sm_80, sm_90a, sm_100a or sm_120a");
  expect_refused("ptx:sm_80@sometimes", "eager, lazy or random");
  expect_refused("ptx:sm_80@seed=x", "seed=NUMBER");
  expect_refused("kernel:" + examples + "none.ptx", "PTX cannot be read");
  expect_refused("kernel:" + examples + "rms_norm_no_barrier.ptx", "launch file cannot be read");
  expect_refused("kernel:" + examples + "rms_norm.cu@" + examples + "rms_norm.yaml", "no PTX");
  expect_refused("cuda:libcuda_that_is_not_there.so", "no CUDA driver here");
}

Answer ask(const std::string& name) {
  const Space space(page("norm.rms"));
  return make_target(name)->run(make_call(Case::parse(space, "T=3 d=70"), parse_contract("fp32")), {});
}

TEST(Targets, SomebodysKernelRuns) {
  const Answer right = ask("kernel:" + examples + "rms_norm.ptx");
  EXPECT_EQ(Answer::Kind::ok, right.kind) << right.message;
  EXPECT_TRUE(right.unwritten.empty());
  const Answer wrong = ask("kernel:" + examples + "rms_norm_no_barrier.ptx@" + examples + "rms_norm.yaml");
  EXPECT_EQ(Answer::Kind::broken, wrong.kind);
  EXPECT_EQ(0U, wrong.message.find("race in kernel rms_norm")) << wrong.message;
  EXPECT_NE(std::string::npos, wrong.message.find("rms_norm.cu:")) << wrong.message;
}

}  // namespace
}  // namespace assay
