#include "conformance/engine/decisions.hpp"

#include <gtest/gtest.h>

#include "conformance/engine/claim.hpp"
#include "reference/core/choice.hpp"
#include "reference/core/verdict.hpp"
#include "spec/compiler/compile.hpp"

// A toy router: every row goes to the two experts with the largest scores, y = the sum of their rows.
namespace assay {
namespace {

const char* const toy_text = R"(---
id: moe.toy
title: Toy router
source: ["A paper"]
wings: []
op:
  name: toy_route
  rows: T
  inputs:
    x: { shape: [T, d], says: "tokens" }
    r: { shape: [d, n], says: "router" }
    v: { shape: [n, m], says: "experts" }
  outputs:
    ids: { shape: [T, 2], dtype: int32, decision: top_k, says: "the experts of a row" }
    y: { shape: [T, m], says: "the sum of their rows" }
cases:
  sizes: { T: [0, 5], d: [1, 5], n: [2, 9], m: [1, 5] }
claims:
  accuracy: { kind: choice, on: target, says: "the experts are among the largest, y is their sum" }
---

# Toy router
)";

template <class T>
void toy_route(Eval<T>& e) {
  const Matrix<T> scores = matmul(e.matrix("x"), e.matrix("r")), v = e.matrix("v");  // [T, n], [n, m]
  const Matrix<Index> ids = e.top_k("ids", scores, 2);                               // [T, 2]
  Matrix<T> y(scores.rows(), v.cols());
  for (Index t = 0; t < y.rows(); ++t) {
    const Vector<T> sum = sum_cols(take_rows(v, {ids(t, 0), ids(t, 1)}));
    for (Index j = 0; j < y.cols(); ++j) y(t, j) = sum[j];
  }
  e.out("y", at(Site::output, y));
}
DEFINITION(moe.toy, toy_route, toy_route)

const Page& toy() {
  static const Page page = [] {
    const spec::Compiled compiled = spec::compile("spec/moe/toy.md", toy_text);
    for (const spec::Mistake& m : compiled.mistakes) ADD_FAILURE() << m.text();
    return compiled.page;
  }();
  return page;
}

/// Rows of scores 1, 1 + 2^-30, 0.5, 5: experts 0 and 1 cannot be told apart in fp32, 2 is out of the question.
Call close(Index rows) {
  Call call;
  call.op = &toy().op;
  call.contract = parse_contract("fp32");
  const Matrix<double> x(rows, 3, 1.0), r(3, 4), v(4, 2);
  const double routes[3][4] = {{0.75, 0.75, 0.25, 4}, {0.25, 0.25, 0.25, 1}, {0, 0x1p-30, 0, 0}};
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 4; ++j) r.data()[i * 4 + j] = routes[i][j];
  }
  for (Index j = 0; j < 4; ++j) v.data()[2 * j] = static_cast<double>(j + 1), v.data()[2 * j + 1] = 0.1F;
  const Format& f = format("fp32");
  call.inputs.set("x", x, &f);
  call.inputs.set("r", r, &f);
  call.inputs.set("v", v, &f);
  return call;
}

/// The same with scores that are far apart.
Call clear(Index rows) {
  Call call = close(rows);
  const Tensor<double> r = call["r"].clone();
  r.data()[1] = 1.75;
  call.set("r", r);
  return call;
}

Tensor<double> choice(Index rows, double first, double second) {
  Tensor<double> ids(Shape{rows, 2});
  for (Index t = 0; t < rows; ++t) ids.data()[2 * t] = first, ids.data()[2 * t + 1] = second;
  return ids;
}

/// What a kernel that chose `ids` and computed y for `computed` returns.
Tensors answer(const Call& call, const Tensor<double>& ids, const Tensor<double>& computed) {
  Tensors decisions, outputs;
  decisions.set("ids", computed, &format("int32"));
  const auto y = evaluate_under<double>(call, decisions);
  outputs.set("ids", ids, &format("int32"));
  const Tensor<double> rounded = y.outputs.at("y").clone();
  for (Index i = 0; i < rounded.size(); ++i) rounded.data()[i] = static_cast<float>(rounded.data()[i]);
  outputs.set("y", rounded, &format("fp32"));
  return outputs;
}

Failure judged(const Call& call, const Tensors& outputs) {
  const Space space(toy());
  Check check(Case(space), nullptr, call.contract, z_of(4e7));
  try {
    check.accurate(call, outputs);
  } catch (const Failure& f) {
    return f;
  }
  EXPECT_GT(check.compared(), 0);
  return {};
}

constexpr Index many = 20'000;  // rows enough for several blocks, evaluated by several threads

TEST(Decision, ALegalFlipIsAcceptedAndTheRestJudgedUnderIt) {
  for (const Index rows : {Index{1}, Index{3}, many}) {
    const Call call = close(rows);
    EXPECT_EQ(evaluate<double>(call).at("ids").at_flat(1), 1) << "what the definition chooses beside 3";
    for (const double other : {0.0, 1.0}) {
      const Tensor<double> ids = choice(rows, 3, other), turned = choice(rows, other, 3);
      EXPECT_EQ(judged(call, answer(call, ids, ids)).what, "");
      EXPECT_EQ(judged(call, answer(call, turned, turned)).what, "") << "the order in a row is free";
    }
  }
}

TEST(Decision, OneRowMayFlipAlone) {
  const Call call = close(many);
  const Tensor<double> ids = choice(many, 3, 1);
  ids.data()[2 * many - 1] = 0;
  EXPECT_EQ(judged(call, answer(call, ids, ids)).what, "");
  const Failure f = judged(call, answer(call, ids, choice(many, 3, 1)));
  EXPECT_EQ(f.what, "not within the bound of the definition");
  EXPECT_EQ(f.where, "output y at [19999, 0]");
}

TEST(Decision, ALegalChoiceWithTheRestOfAnotherIsRejected) {
  const Call call = close(3);
  const Failure f = judged(call, answer(call, choice(3, 3, 1), choice(3, 3, 0)));
  EXPECT_EQ(f.what, "not within the bound of the definition");
  EXPECT_EQ(f.where, "output y at [0, 0]");
  EXPECT_EQ(f.expected, "6");
  EXPECT_EQ(f.got, "5");
}

TEST(Decision, AnIllegalChoiceIsRefusedWithItsScores) {
  const Call call = close(3);
  const Tensor<double> ids = choice(3, 3, 1);
  ids.data()[5] = 2;
  const Failure f = judged(call, answer(call, ids, ids));
  EXPECT_EQ(f.where, "output ids, row 2");
  EXPECT_EQ(f.what.rfind("a choice that the scores do not allow: index 2 (score 0.5, error up to ", 0), 0U) << f.what;
  EXPECT_NE(f.what.find(") is chosen over index 0 (score 1, error up to "), std::string::npos) << f.what;
  EXPECT_NE(judged(clear(1), answer(clear(1), choice(1, 3, 0), choice(1, 3, 0))).what, "") << "no tie, no flip";
}

TEST(Decision, WhatIsNoChoiceIsRefusedWithoutAComputation) {
  const Call call = close(2);
  const Tensor<double> legal = choice(2, 3, 1);
  for (const double bad : {-1.0, 4.0, 0.5, 3.0, 1e30, not_a_number}) {
    const Failure f = judged(call, answer(call, choice(2, 3, bad), legal));
    EXPECT_EQ(f.what, "not a choice") << bad;
    EXPECT_EQ(f.where, "output ids, row 0");
    EXPECT_EQ(f.expected, "distinct indices from 0 to 3");
  }
  Tensors outputs = answer(call, legal, legal);
  outputs.set("ids", Tensor<double>(Shape{2, 3}, 1.0), &format("int32"));
  const Failure f = judged(call, outputs);
  EXPECT_EQ(f.what, "wrong shape");
  EXPECT_EQ(f.expected, "[2, 2]");
}

TEST(Decision, WithoutItOnlyClearCasesAreJudged) {
  Tensors outputs = answer(clear(2), choice(2, 3, 1), choice(2, 3, 1));
  outputs.erase("ids");
  EXPECT_EQ(judged(clear(2), outputs).what, "");
  Tensors wrong = answer(clear(2), choice(2, 3, 1), choice(2, 3, 0));
  wrong.erase("ids");
  EXPECT_EQ(judged(clear(2), wrong).what, "not within the bound of the definition");
  EXPECT_THROW(judged(close(2), outputs), NotOffered) << "a tie: nobody knows which way this target went";
}

TEST(Decision, OneOutputIsJudgedUnderItToo) {
  const Call call = close(2);
  const Space space(toy());
  Check check(Case(space), nullptr, call.contract, z_of(4e7));
  const Tensor<double> ids = choice(2, 3, 0), illegal = choice(2, 3, 2);
  check.accurate(call, answer(call, ids, ids), "ids");
  check.accurate(call, answer(call, ids, ids), "y");
  EXPECT_THROW(check.accurate(call, answer(call, illegal, illegal), "ids"), Failure);
  EXPECT_THROW(check.accurate(call, answer(call, illegal, illegal), "y"), Failure);
}

TEST(Decision, TheReferenceIsATargetLikeAnyOther) {
  Call call = close(2);
  call.contract = parse_contract("fp64");
  for (const char* input : {"x", "r", "v"}) call.inputs.set(input, call[input], &format("fp64"));
  const auto reference = make_target("reference");
  const Answer a = reference->run(call, {});
  ASSERT_EQ(a.kind, Answer::Kind::ok) << a.message;
  EXPECT_EQ(a.outputs.find("ids").format->name, "int32");
  EXPECT_EQ(judged(call, a.outputs).what, "");
  const Tensor<double> other = choice(2, 3, 0);
  EXPECT_EQ(judged(call, answer(call, other, other)).where, "output ids, row 0") << "no flip in fp64";
}

TEST(Decision, FlowSeesWhatWasLookedAt) {
  const auto y = evaluate<Flow>(close(2));
  EXPECT_EQ(y.at("ids").at_flat(0).tokens, 1U);
  EXPECT_EQ(y.at("ids").at_flat(3).tokens, 2U);
}

TEST(Decision, AnOutputThatThePageDoesNotMarkIsNoDecision) {
  const Call call = close(1);
  Eval<double> e(call);
  EXPECT_THROW(e.top_k("y", Matrix<double>(1, 4), 2), Error);
  EXPECT_THROW(e.top_k("ids", Matrix<double>(1, 4), 5), Error);
}

}  // namespace
}  // namespace assay
