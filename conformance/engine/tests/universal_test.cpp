// Every universal claim is seen to fail on a target, or on a definition, that misbehaves in the way it watches for, and
// to pass on the honest one. What memory itself tells - guards, poison, gaps, inputs written - is tested with the
// worker (worker/tests/misbehaviour_test.cpp); here it is an answer of the target.
#include <gtest/gtest.h>

#include <cmath>

#include "conformance/engine/tests/fake_target.hpp"
#include "reference/norm/rms.hpp"

namespace assay {
namespace {

using Run = std::function<Answer(Target& honest, const Call&, const Layout&)>;

class Misbehaving : public Target {
 public:
  explicit Misbehaving(Run run) : run_(std::move(run)) {}
  std::string name() const override { return "misbehaving"; }
  std::vector<Contract> contracts(const OpSpec&) const override { return {parse_contract("fp64")}; }
  bool offers_output(const OpSpec&, const std::string&) const override { return true; }
  bool offers_option(const OpSpec&, std::size_t, int) const override { return true; }
  bool sees_memory() const override { return true; }
  bool same_kernel() const override { return true; }
  Answer run(const Call& call, const Layout& layout) override { return run_(*honest_, call, layout); }

 private:
  Run run_;
  std::unique_ptr<Target> honest_ = make_target("reference");
};

const Claim& universal(const std::string& name) {
  for (const Claim& c : universal_claims()) {
    if (c.id == "universal." + name) return c;
  }
  throw Error("no universal claim", name);
}

Result ask(const std::string& name, Target& target) {
  RunOptions options;
  options.tier_of = tier("quick");
  options.fingerprints = false;
  const Page& rms = page("norm.rms");
  return run_claim(universal(name), rms, target, parse_contract("fp64"), options);
}
Result ask(const std::string& name, Run run) {
  Misbehaving target(std::move(run));
  return ask(name, target);
}

Answer broken(const std::string& message) {
  Answer a;
  a.kind = Answer::Kind::broken;
  a.message = message;
  return a;
}
/// Changes the output of an honest answer.
Answer changed(Answer a, const std::function<void(Tensor<double>&)>& change) {
  if (a.kind != Answer::Kind::ok || !a.outputs.has("y")) return a;
  Tensor<double> y = a.outputs["y"].clone();
  change(y);
  a.outputs.find("y").value = y;
  return a;
}
/// The op, whatever the shapes and types of the inputs beside x: as if it looked at x alone.
Answer blind(Target& honest, const Call& call) {
  Call right = call;
  const Index d = call["x"].shape()[1];
  right.inputs.set("x", call["x"], call.contract.in);
  right.inputs.set("w", Tensor<double>({d}, 1.0), call.contract.in);
  return honest.run(right, {});
}

struct Misbehaviour {
  const char *claim, *name;
  Run run;
};

std::vector<Misbehaviour> misbehaviours() {
  std::vector<Misbehaviour> all;
  const auto add = [&](const char* claim, const char* name, Run run) { all.push_back({claim, name, std::move(run)}); };
  add("written", "leaves an element unwritten, seen under the second poison only",
      [](Target& t, const Call& c, const Layout& l) {
        Answer a = t.run(c, l);
        if (l.other_poison) a.unwritten.push_back("y");
        return a;
      });
  add("memory", "reads before the start", [](Target& t, const Call& c, const Layout& l) {
    return l.guard_before ? broken("read before the start of x") : t.run(c, l);
  });
  add("memory", "reads after the end", [](Target& t, const Call& c, const Layout& l) {
    return l.guard_before ? t.run(c, l) : broken("read after the end of x");
  });
  add("deterministic", "every second call differs in a bit",
      [calls = 0](Target& t, const Call& c, const Layout& l) mutable {
        return changed(t.run(c, l), [odd = ++calls % 2 == 1](Tensor<double>& y) {
          if (odd && y.size() > 0) y.data()[0] = std::nextafter(y.data()[0], infinity);
        });
      });
  add("stateless", "remembers the answer by shape",
      [cache = std::map<std::string, Answer>()](Target& t, const Call& c, const Layout& l) mutable {
        std::string key = to_string(c["x"].shape());
        for (const double o : c.options) key += " " + std::to_string(o);
        const auto [at, fresh] = cache.try_emplace(key);
        if (fresh) at->second = t.run(c, l);
        return at->second;
      });
  add("strided", "takes strided rows for dense ones", [](Target& t, const Call& c, const Layout& l) {
    return changed(t.run(c, l), [&](Tensor<double>& y) {
      if (l.strided) std::fill(y.data(), y.data() + y.size(), not_a_number);
    });
  });
  add("rows_independent", "normalizes by the last row as well", [](Target& t, const Call& c, const Layout& l) {
    return changed(t.run(c, l), [&](Tensor<double>& y) {
      const Index n = y.size(), x = c["x"].size();
      if (n > 0 && x > 0) y.data()[0] += c["x"].at_flat(x - 1);
    });
  });
  add("nan_row", "a NaN spreads to the whole batch", [](Target& t, const Call& c, const Layout& l) {
    bool any = false;
    for (Index i = 0, n = c["x"].size(); i < n; ++i) any = any || std::isnan(c["x"].at_flat(i));
    return changed(t.run(c, l), [&](Tensor<double>& y) {
      if (any) std::fill(y.data(), y.data() + y.size(), not_a_number);
    });
  });
  add("empty_batch", "stops at an empty batch", [](Target& t, const Call& c, const Layout& l) {
    return c["x"].shape()[0] == 0 ? broken("SIGFPE") : t.run(c, l);
  });
  add("empty_batch", "returns a row for an empty batch", [](Target& t, const Call& c, const Layout& l) {
    Answer a = t.run(c, l);
    if (c["x"].shape()[0] == 0) a.outputs.set("y", Tensor<double>({1, c["x"].shape()[1]}, 0.0), c.contract.out);
    return a;
  });
  add("wrong_shape", "does not look at the shape of w",
      [](Target& t, const Call& c, const Layout&) { return blind(t, c); });
  add("wrong_dtype", "does not look at types", [](Target& t, const Call& c, const Layout&) { return blind(t, c); });
  return all;
}

TEST(Universal, EveryClaimOnTargetsCatchesItsMisbehaviour) {
  for (const Misbehaviour& m : misbehaviours()) {
    const Result r = ask(m.claim, m.run);
    EXPECT_EQ(r.verdict, Result::Verdict::failed) << m.claim << ": " << m.name;
    EXPECT_EQ(r.failure.what.find("error:"), std::string::npos) << m.claim << ": " << r.failure.what;
  }
}

TEST(Universal, HonestTargetsPass) {
  for (const Claim& c : universal_claims()) {
    const std::string name = c.id.substr(std::string("universal.").size());
    if (c.spec->on == "target") {
      const Result r = ask(name, [](Target& t, const Call& call, const Layout& l) { return t.run(call, l); });
      EXPECT_EQ(r.verdict, Result::Verdict::passed) << name << ": " << r.failure.what << r.reason;
    }
    const auto reference = make_target("reference");
    const Result r = ask(name, *reference);
    EXPECT_EQ(r.verdict, Result::Verdict::passed) << name << ": " << r.failure.what << r.reason;
  }
}

// ---- definitions: the one of rms_norm is replaced for a while

template <class T>
Matrix<T> rms(Eval<T>& e) {
  return rms_norm(e.matrix("x"), e.vector("w"), e.template options<RmsNormOptions>());
}
template <class T>
void a_little_off(Eval<T>& e) {
  e.out("y", (1 + 0x1p-46) * rms(e));
}
template <class T>
void off_beyond_double(Eval<T>& e) {  // what double cannot show, Wide does
  const Matrix<T> y = rms(e);
  if constexpr (std::is_same_v<T, Wide>) {
    e.out("y", y + 0x1p-70 * y);
  } else {
    e.out("y", y);
  }
}
template <class T>
void third_in_double(Eval<T>& e) {
  e.out("y", (1 / 3.0) * (3.0 * rms(e)));  // the quotient is rounded, and Bound does not know
}
template <class T>
void previous_row(Eval<T>& e) {
  Matrix<T> y = rms(e);
  for (Index t = 1; t < y.rows(); ++t) {
    for (Index i = 0; i < y.cols(); ++i) y(t, i) = y(t, i) + T(0) * y(t - 1, i);
  }
  e.out("y", y);
}
template <class T>
void in_its_input(Eval<T>& e) {
  const Matrix<T> y = rms(e);
  Matrix<T> x = e.matrix("x");
  for (Index t = 0; t < x.rows(); ++t)
    for (Index i = 0; i < x.cols(); ++i) x(t, i) = y(t, i);
  e.out("y", y);
}
template <class T>
void by_number_of_rows(Eval<T>& e) {
  const Matrix<T> y = rms(e);
  e.out("y", y.rows() % 2 == 0 ? (1 + 0x1p-50) * y : y);
}

class Replaced {
 public:
  explicit Replaced(const Definition& by)
      : definition_(const_cast<Definition&>(definition_of("rms_norm"))), kept_(definition_) {
    definition_ = by;
  }
  ~Replaced() { definition_ = kept_; }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  Definition& definition_;
  const Definition kept_;
};

#define REPLACE(f)                                                                                                   \
  const Replaced replaced({"rms_norm", "norm.rms", &f<double>, &f<Bound>, &f<Dual>, &f<Flow>, &f<Count>, &f<Wide>}); \
  const auto reference = make_target("reference")

TEST(Universal, SecondOpinionSeesAnErrorAboveTheBoundOfDouble) {
  REPLACE(a_little_off);
  const Result r = ask("second_opinion", *reference);
  EXPECT_EQ(r.verdict, Result::Verdict::failed);
  EXPECT_EQ(r.failure.what, "|definition in double - second opinion|, output y");
}
TEST(Universal, SecondOpinionSeesInWideWhatDoubleCannotShow) {
  REPLACE(off_beyond_double);
  const Result r = ask("second_opinion", *reference);
  EXPECT_EQ(r.verdict, Result::Verdict::failed);
  EXPECT_EQ(r.failure.what, "|definition in Wide - second opinion|, output y");
}
TEST(Universal, SecondOpinionNamesArithmeticInDouble) {
  REPLACE(third_in_double);
  const Result r = ask("second_opinion", *reference);
  EXPECT_EQ(r.verdict, Result::Verdict::failed);
  EXPECT_NE(r.failure.what.find("in double instead of T"), std::string::npos) << r.failure.what;
}
TEST(Universal, FlowSeesAnotherRow) {
  REPLACE(previous_row);
  EXPECT_EQ(ask("flow", *reference).verdict, Result::Verdict::failed);
}
TEST(Universal, InputsAreNotADefinitionsToWriteTo) {
  REPLACE(in_its_input);
  EXPECT_EQ(ask("inputs_kept", *reference).verdict, Result::Verdict::failed);
}
TEST(Universal, BlocksOfRowsSeeTheirNumber) {
  REPLACE(by_number_of_rows);
  EXPECT_EQ(ask("same_bits_any_blocking", *reference).verdict, Result::Verdict::failed);
}

TEST(Universal, EachHasAMisbehaviour) {
  // one above, or one of the tests of definitions
  for (const Claim& c : universal_claims()) {
    bool seen = c.spec->on == "definition";
    for (const Misbehaviour& m : misbehaviours()) seen = seen || c.id == std::string("universal.") + m.claim;
    EXPECT_TRUE(seen) << c.id;
  }
}

}  // namespace
}  // namespace assay
