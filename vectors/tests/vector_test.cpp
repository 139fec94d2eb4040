#include "vectors/vector.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "conformance/engine/call_file.hpp"
#include "conformance/engine/eval.hpp"
#include "conformance/engine/subject.hpp"
#include "conformance/engine/target.hpp"
#include "reference/core/safetensors_convert.hpp"
#include "reference/core/verdict.hpp"

namespace assay::vectors {
namespace {

Plan plan_of(const std::string& id) {
  for (const Page& page : pages()) {
    if (!has_vectors(page)) continue;
    for (const Plan& plan : plan_vectors(page)) {
      if (plan.id() == id) return plan;
    }
  }
  throw Error("no vector has this id", "", id);
}

const char* const masked = "softmax.safe.t4_n33_mask_given_mask_is_empty_rows.bf16";

RawTensor& tensor(SafetensorsFile& file, const std::string& name) {
  for (RawTensor& t : file.tensors) {
    if (t.name == name) return t;
  }
  throw Error("no tensor " + name);
}

TEST(Vector, EveryOneIsACompleteCase) {
  int checked = 0;
  for (const Page& page : pages()) {
    if (!has_vectors(page)) continue;
    for (const Plan& plan : plan_vectors(page)) {
      const SafetensorsFile file = parse_safetensors(serialize_safetensors(make_vector(plan)), plan.id());
      ASSERT_NO_THROW(check_vector(file, plan.id()));
      EXPECT_EQ(covers_of(file, plan.id()).size(), plan.family->covers.size());
      EXPECT_EQ(call_from_file(file, plan.id()).contract.spell(), parse_contract(plan.family->contract).spell());
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

TEST(Vector, AnHonestKernelIsAccepted) {
  int judged = 0;
  for (const Family& family : families()) {
    const auto target = make_target("subject:" + family.contract);
    for (const Page& page : pages()) {
      if (!has_vectors(page)) continue;
      for (const Plan& plan : plan_vectors(page)) {
        if (plan.family != &family) continue;
        const SafetensorsFile file = make_vector(plan);
        const Call call = call_from_file(file, plan.id());
        if (subject_of(call.op->name) == nullptr) continue;
        const Answer answer = target->run(call, {});
        ASSERT_EQ(answer.kind, Answer::Kind::ok) << plan.id() << ": " << answer.message;
        for (const Cover& cover : covers_of(file, plan.id())) {
          if (cover.name != family.contract) continue;
          EXPECT_EQ(outside(file, call, answer.outputs, cover), std::vector<std::string>()) << plan.id();
          ++judged;
        }
      }
    }
  }
  EXPECT_GT(judged, 100);
}

// The tensors of the file say what the engine's judge says: the same allowance around the same value.
void same_as_the_judge(const SafetensorsFile& file) {
  const Call call = call_from_file(file, "");
  for (const Cover& cover : covers_of(file, "")) {
    Call under = call;
    under.contract = cover.contract;
    const Reading r{&under.contract, false, vector_z()};
    const ReadingScope scope(r);
    for (const auto& item : evaluate<Bound>(under)) {
      const std::string own = "expected." + item.first + "." + cover.suffix;
      const Tensor<double> expected =
          decode_tensor(file.at(file.find(own) == nullptr ? "expected." + item.first : own));
      const Tensor<double> allowed = decode_tensor(file.at("allowed." + item.first + "." + cover.suffix));
      for (Index i = 0, n = expected.size(); i < n; ++i) {
        const Bound& y = item.second.at_flat(i);
        EXPECT_EQ(allowed.at_flat(i), judge(y, 0, formats::fp32, Round::nearest_even, vector_z()).allowed);
        EXPECT_EQ(expected.at_flat(i), y.v);
      }
    }
  }
}

TEST(Vector, AllowsWhatTheJudgeAllows) {
  same_as_the_judge(make_vector(plan_of(masked)));
  const SafetensorsFile cast = make_vector(plan_of("norm.rms.t3_d65_cast_cast_mid.bf16"));
  ASSERT_NE(cast.find("expected.y.bf16"), nullptr) << "an emulated cast";
  same_as_the_judge(cast);
}

// `expected` is the value of the reading Bound; the reading double gives the same but for its own rounding.
TEST(Vector, ExpectedIsTheDefinitionInDouble) {
  for (const char* id :
       {masked, "norm.rms.t3_d65_cast_cast_mid.fp32", "model.linear.t4_n_in_64_n_out_5_profile_cancelling.fp16"}) {
    const SafetensorsFile file = make_vector(plan_of(id));
    Call call = call_from_file(file, "");
    call.contract = parse_contract("fp64");
    const Reading r{&call.contract, false, vector_z()};
    const ReadingScope scope(r);
    const auto bounds = evaluate<Bound>(call);
    for (const auto& item : evaluate<double>(call)) {
      const Tensor<double> expected = decode_tensor(file.at("expected." + item.first));
      for (Index i = 0, n = expected.size(); i < n; ++i) {
        const double x = expected.at_flat(i), y = item.second.at_flat(i);
        EXPECT_TRUE(x == y || std::fabs(x - y) <= bounds.at(item.first).at_flat(i).w) << id << item.first << i;
      }
    }
  }
}

TEST(Vector, OneUnitTooFarIsOutside) {
  const SafetensorsFile file = make_vector(plan_of("softmax.safe.t2_n1.fp32"));
  const Call call = call_from_file(file, "");
  Tensors outputs;
  outputs.set("p", Tensor<double>(Shape{2, 1}, 1.0), call.contract.out);
  const Cover cover = covers_of(file, "").at(0);
  EXPECT_TRUE(outside(file, call, outputs, cover).empty());
  outputs.set("p", Tensor<double>(Shape{2, 1}, 1 + 0x1p-23), call.contract.out);
  EXPECT_EQ(outside(file, call, outputs, cover), std::vector<std::string>{"p"});
  outputs.set("p", Tensor<double>(Shape{2, 1}, std::nan("")), call.contract.out);
  EXPECT_EQ(outside(file, call, outputs, cover), std::vector<std::string>{"p"});
}

TEST(Vector, NaNIsTheCanonicalOne) {
  const SafetensorsFile file =
      make_vector(plan_of("softmax.safe.t3_n5_mask_given_empty_row_nan_mask_is_empty_rows.fp32"));
  const RawTensor& p = file.at("expected.p");
  int nans = 0;
  for (std::size_t i = 0; i < p.data.size(); i += 8) {
    double v = 0;
    std::uint64_t bits = 0;
    std::memcpy(&v, &p.data[i], 8);
    std::memcpy(&bits, &p.data[i], 8);
    if (!std::isnan(v)) continue;
    EXPECT_EQ(bits, 0x7FF8000000000000U);
    ++nans;
  }
  EXPECT_GT(nans, 0);
}

TEST(Vector, EqualAllowancesAreKeptOnce) {
  const SafetensorsFile file = make_vector(plan_of(masked));
  std::map<std::string, std::string> suffix;
  for (const Cover& cover : covers_of(file, "")) suffix[cover.name] = cover.suffix;
  EXPECT_EQ(suffix.at("bf16"), "bf16");
  EXPECT_EQ(suffix.at("bf16_mma"), "bf16_mma") << "a truncating unit is allowed more";
  EXPECT_EQ(suffix.at("bf16_out_fp32"), "bf16") << "the same arithmetic; only the output's rounding differs";
}

TEST(Vector, BrokenOnesAreRefused) {
  const SafetensorsFile good = make_vector(plan_of(masked));
  const auto refusal = [](const SafetensorsFile& file) -> std::string {
    try {
      check_vector(file, "FILE");
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(good), "accepted");
  SafetensorsFile file = good;
  std::erase_if(file.tensors, [](const RawTensor& t) { return t.name == "allowed.lse.bf16"; });
  EXPECT_EQ(refusal(file), "FILE: tensor: expected allowed.lse.bf16, found none");
  file = good;
  tensor(file, "expected.p").shape = {33, 4};
  EXPECT_EQ(refusal(file), "FILE: tensor expected.p: expected F64 [4, 33], found F64 [33, 4]");
  file = good;
  tensor(file, "allowed.lse.bf16") = encode_tensor("allowed.lse.bf16", "F64", Tensor<double>(Shape{4}, -1));
  EXPECT_NE(refusal(file).find("allowed.lse.bf16, element 0: expected a number that is not negative"),
            std::string::npos);
  file = good;
  file.tensors.push_back(encode_tensor("more", "F64", Tensor<double>(Shape{1}, 0)));
  EXPECT_NE(refusal(file).find("number of tensors"), std::string::npos);
  file = good;
  tensor(file, "in.x").data[5] ^= std::byte{1};
  EXPECT_NE(refusal(file).find("digest of the inputs"), std::string::npos);
  file = good;
  std::erase_if(file.metadata, [](const auto& item) { return item.first.starts_with("covers."); });
  EXPECT_NE(refusal(file).find("covers.CONTRACT"), std::string::npos);
  file = good;
  file.metadata["covers.bf16"] = "bf16 in=bf17";
  EXPECT_NE(refusal(file).find("covers.bf16"), std::string::npos);
}

}  // namespace
}  // namespace assay::vectors
