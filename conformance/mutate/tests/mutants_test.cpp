#include "conformance/mutate/mutant.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <set>

#include "conformance/mutate/tests/run.hpp"

namespace assay::mutate::tests {
namespace {

const std::vector<float> input = {1, 2, 4, 8};

bool same_bits(const Values& a, const Values& b) { return std::memcmp(a.data(), b.data(), sizeof(Values)) == 0; }

Values mutated(const char* op, int id, const std::vector<float>& x) {
  MutantScope on(id, passes);
  return run(mutated_subject_of(op), x);
}

TEST(Mutants, WithoutOneTheSubjectIsItself) {
  ASSERT_EQ(mutated_ops(), (std::vector<std::string>{"syntax", "toy"}));
  std::mt19937 bits(1);
  for (const char* op : {"toy", "syntax"}) {
    for (int i = 0; i < 2000; ++i) {
      std::vector<float> x(1 + bits() % 12);
      for (float& v : x)
        v = std::ldexp(static_cast<float>(bits() >> 8), -static_cast<int>(bits() % 40)) * (bits() % 2 ? 1.0f : -1.0f);
      for (const char* bug : {"", "tripled", "wrong", "other_bug", "third"}) {
        MutantScope none(0);
        EXPECT_TRUE(same_bits(run(mutated_subject_of(op), x, bug), run(subject_of(op), x, bug))) << op << " " << bug;
      }
    }
  }
}

struct Expected {
  const char *original, *description;
  int nth;   // of those in the source with this original and description
  int slot;  // of y
  float value;
};

// The toy for x = 1 2 4 8 gives y = 15.5 -199 1 16 440 2. Worked out by hand from toy.cpp with the edit made.
const Expected expected[] = {
    {"total += x(i);", "dropped", 0, 0, 0.5f},
    {"+=", "+= becomes =", 0, 0, 8},
    {"+=", "+= becomes -=", 0, 0, 0.5f - 15},
    {"return total", "multiplied by 1.001", 0, 0, 15.5f * 1.001f},
    {"return total", "multiplied by 1 + 2^-8", 0, 0, 15.5f * 1.00390625f},
    {"m = std::max(m, x(i) * 2.0f);", "dropped", 0, 3, -INFINITY},
    {"m = std::max(m, x(i) * 2.0f)", "multiplied by 1 + 2^-8", 0, 3, 16 * 1.00390625f * 1.00390625f * 1.00390625f},
    {"float dot = 3", "initialised in the first pass of the loop only", 0, 4, 20 + 10 * (20 + 39)},
    {"sums[i] = dot", "multiplied by 1.001", 0, 4, 20 * 1.001f + 10 * (42 * 1.001f)},
    {"sums[i] = dot;", "dropped", 0, 4, 0},
    {"y.set(0, sum(x, n));", "dropped", 0, 0, 99},
    {"between(x(0), 1, 2)", "taken to be false", 0, 2, 0},
    {"for (...; i < n; ++i)", "the last pass is skipped", 0, 0, 7.5f},
    {"for (...; k < 2; ++k)", "the last pass is skipped", 0, 4, 8 + 10 * 18},
    {"?:", "branches swapped", 0, 1, -0.5f + 100 * -1},
    {"if (x(0) == 1)", "never taken", 0, 5, 7},
    {"if (x(0) == 1)", "always taken", 0, 5, 2},
    {"<", "< becomes <=", 0, 0, 31.5f},
    {"<", "< becomes >", 0, 0, 0.5f},
    {">", "> becomes >=", 0, 1, -199},
    {">", "> becomes <", 0, 1, -100.5f},
    {"-", "- becomes +", 0, 1, 3 - 200},
    {"-", "right term dropped", 0, 1, 2 - 200},
    {"-", "left term dropped", 0, 1, -1 - 200},
    {"/", "/ becomes *", 0, 1, 1 + 100 * 2 * -1},
    {"/", "divisor dropped", 0, 1, 1 + 100 * 2},
    {"/", "dividend and division dropped", 0, 1, 1 + 100 * -1},
    {"-", "sign dropped", 0, 1, 1 + 100 * 2},
    {">=", ">= becomes >", 0, 2, 0},
    {">=", ">= becomes <=", 0, 2, 1},
    {"<=", "<= becomes <", 0, 2, 1},
    {"<=", "<= becomes >=", 0, 2, 0},
    {"!=", "!= becomes ==", 0, 3, -INFINITY},
    {"==", "== becomes !=", 0, 5, 7},
    {"*", "* becomes +", 0, 3, 10},
    {"*", "right factor dropped", 0, 3, 8},
    {"*", "left factor dropped", 0, 3, 2},
    {"*", "right factor dropped", 2, 4, 3 + 1 + 2 + 10 * (3 + 3 + 4)},
    {"+", "+ becomes -", 1, 4, 20 - 420},
    {"+", "right term dropped", 1, 4, 20},
    {"+", "left term dropped", 1, 4, 420},
    {"0.5f", "0.5f becomes 1.5f", 0, 0, 16.5f},
    {"0.5f", "0.5f becomes -0.5f", 0, 0, 14.5f},
    {"0.5f", "0.5f becomes 0.0f", 0, 0, 15},
    {"0", "0 becomes 1", 0, 0, 14.5f},
    {"0", "0 becomes -1", 0, 0, 47.5f},
    {"std::max", "max becomes min", 0, 3, -INFINITY},
    {"std::max", "second argument dropped", 0, 3, -INFINITY},
    {"std::max", "first argument dropped", 0, 3, 4},
    {"std::sqrt", "sqrt dropped", 0, 5, 4},
};

TEST(Mutants, EachDoesWhatItSays) {
  const Values base = run(subject_of("toy"), input);
  for (const Expected& e : expected) {
    int nth = 0, id = 0;
    for (const MutantInfo& m : mutants_of("toy")) {
      if (std::string_view(m.original) == e.original && std::string_view(m.description) == e.description &&
          nth++ == e.nth)
        id = m.id;
    }
    ASSERT_NE(id, 0) << e.original << ": " << e.description;
    Values y = base;
    y[static_cast<std::size_t>(e.slot)] = e.value;
    const Values found = mutated("toy", id, input);
    for (std::size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(found[i], y[i]) << e.original << ": " << e.description << ", y" << i;
  }
}

TEST(Mutants, TheTableIsComplete) {
  std::set<std::string> kinds;
  int id = 0, changed = 0;
  const Values base = run(subject_of("toy"), input);
  for (const MutantInfo& m : mutants_of("toy")) {
    EXPECT_EQ(m.id, ++id);
    kinds.insert(m.kind);
    try {
      changed += !same_bits(mutated("toy", m.id, input), base);
    } catch (const MutantFault&) {
      ++changed;
    }
  }
  // The others change nothing for this input: x(0) == 1 already, second operands of ||, arguments that cannot be
  // swapped...
  EXPECT_EQ(id, 214);
  EXPECT_EQ(changed, 177);
  for (const MutantInfo& m : mutants_of("syntax")) kinds.insert(m.kind);
  const std::set<std::string> all = {"arguments", "assignment", "choice", "comparison", "condition",
                                     "constant",  "function",   "guard",  "loop",       "operator",
                                     "scale",     "sign",       "stale",  "statement"};
  EXPECT_EQ(kinds, all);
}

TEST(Mutants, EndlessLoopsAndSubscriptsOutsideAreFaults) {
  int endless = 0, outside = 0;
  for (const MutantInfo& m : mutants_of("toy")) {
    try {
      mutated("toy", m.id, input);
    } catch (const MutantFault& fault) {
      (std::string(fault.what()).find("loops") != std::string::npos ? endless : outside) += 1;
    }
  }
  EXPECT_GT(endless, 0);
  EXPECT_GT(outside, 5);
}

TEST(Mutants, StaleValuesDoNotOutliveARun) {
  for (const MutantInfo& m : mutants_of("toy")) {
    if (std::string_view(m.kind) != "stale") continue;
    const Values first = mutated("toy", m.id, input);
    EXPECT_TRUE(same_bits(first, mutated("toy", m.id, input)));
  }
}

TEST(Mutants, ScopesNestAndCountPasses) {
  MutantScope outer(3);
  {
    MutantScope inner(0, passes);
    EXPECT_EQ(active_mutant(), 0);
    run(mutated_subject_of("toy"), input);
    EXPECT_EQ(inner.passes(), 4 + 3 + 2 + 4);
  }
  EXPECT_EQ(active_mutant(), 3);
}

TEST(Mutants, AnUnknownOpHasNone) {
  EXPECT_TRUE(mutants_of("no_such_op").empty());
  EXPECT_EQ(mutated_subject_of("no_such_op"), nullptr);
}

}  // namespace
}  // namespace assay::mutate::tests
