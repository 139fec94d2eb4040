// A definition that does not keep to its page is an error, whether its rows are evaluated at once or in blocks.
#include <gtest/gtest.h>

#include "conformance/engine/claim.hpp"
#include "spec/compiler/compile.hpp"

namespace assay {
namespace {

const char* const toy_text = R"(---
id: norm.toy
title: Toy
source: ["A paper"]
wings: []
op:
  name: toy_pair
  rows: T
  inputs:
    x: { shape: [T, d], says: "rows" }
  outputs:
    y: { shape: [T, d], says: "twice x" }
    s: { shape: [T], says: "the sum of a row" }
  options:
    mistake: { values: [none, no_sum, wide, long], says: "what the definition does wrong" }
cases:
  sizes: { T: [0, 5], d: [1, 5] }
claims:
  accuracy: { kind: rounding, on: target, says: "y = 2 x" }
---

# Toy
)";

template <class T>
void toy_pair(Eval<T>& e) {
  const Matrix<T> x = e.matrix("x");
  const double mistake = e.call.option("mistake");
  const Matrix<T> y = 2.0 * x;
  e.out("y", mistake == 2 ? concat_cols(y, y) : mistake == 3 ? concat_rows(y, y) : y);
  if (mistake != 1) e.out("s", sum_rows(x));
}
DEFINITION(norm.toy, toy_pair, toy_pair)

Call call_of(Index rows, const char* mistake) {
  static const Page page = spec::compile("spec/norm/toy.md", toy_text).page;
  Call call;
  call.op = &page.op;
  call.contract = parse_contract("fp64");
  call.options = {0};
  for (std::size_t i = 0; i < page.op.options[0].names.size(); ++i)
    if (page.op.options[0].names[i] == mistake) call.options[0] = static_cast<double>(i);
  const Matrix<double> x(rows, 3);
  for (Index i = 0; i < 3 * rows; ++i) x.data()[i] = static_cast<double>(i % 17);
  call.inputs.set("x", x, &format("fp64"));
  return call;
}

constexpr Index many = 100000;  // rows that are cut into blocks

TEST(Evaluate, BlocksGiveTheWhole) {
  const auto y = evaluate<double>(call_of(many, "none"));
  ASSERT_EQ((Shape{many, 3}), y.at("y").shape());
  for (Index i = 0; i < 3 * many; ++i) ASSERT_EQ(2.0 * static_cast<double>(i % 17), y.at("y").at_flat(i));
  ASSERT_EQ(Shape{many}, y.at("s").shape());
}

TEST(Evaluate, AnOutputThatTheDefinitionForgetsIsAnError) {
  for (const Index rows : {Index{2}, many}) {
    try {
      evaluate<double>(call_of(rows, "no_sum"));
      FAIL() << "accepted with " << rows << " rows";
    } catch (const Error& e) {
      EXPECT_EQ("s", e.found) << e.what();
    }
  }
}

TEST(Evaluate, AnOutputOfTheWrongShapeIsAnError) {
  for (const Index rows : {Index{2}, many})
    for (const char* mistake : {"wide", "long"}) {
      try {
        evaluate<double>(call_of(rows, mistake));
        FAIL() << mistake << " accepted with " << rows << " rows";
      } catch (const Error& e) {
        EXPECT_NE(std::string::npos, std::string(e.what()).find("tensor y")) << e.what();
      }
    }
}

}  // namespace
}  // namespace assay
