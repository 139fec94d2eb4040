#include "conformance/engine/run.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "conformance/engine/fingerprint.hpp"
#include "reference/core/verdict.hpp"

namespace assay {
namespace {

/// RapidCheck calls back at every case; nobody listens.
class Silence : public rc::detail::TestListener {
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

/// One claim on one target: tries cases and keeps the books.
class Runner {
 public:
  Runner(const Claim& claim, const Page& page, Target& target, const Contract& contract, const RunOptions& options)
      : claim_(claim), space_(page), target_(target), contract_(contract), options_(options) {
    result_.claim = claim.page == nullptr ? claim.id + "(" + space_.op().name + ")" : claim.id;
    result_.target = target.name();
    result_.contract = contract.spell();
    result_.says = claim.spec->says;
    result_.concept_id = page.id;
    for (const Axis& a : space_.axes()) allowed_.push_back(allowed(a));
  }

  Result run() {
    const auto start = std::chrono::steady_clock::now();
    if (!options_.only_case.empty()) {
      attempt(Case::parse(space_, options_.only_case));
    } else {
      corners();
      if (!failing_) random();
    }
    settle();
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result_;
  }

 private:
  /// The values of an axis that the target offers; the others are not drawn.
  std::vector<std::int64_t> allowed(const Axis& a) const {
    std::vector<std::int64_t> values;
    if (a.kind == Axis::Kind::also &&
        a.high - a.low < 4096) {  // nearest to the default first: it shrinks to the default
      for (std::int64_t v = a.low; v <= a.high; ++v) values.push_back(v);
      std::stable_sort(values.begin(), values.end(), [&a](std::int64_t x, std::int64_t y) {
        return std::abs(x - a.standard) < std::abs(y - a.standard);
      });
      return values;
    }
    if (a.kind != Axis::Kind::option) return values;  // all of [low, high]
    const OpSpec& op = space_.op();
    for (std::size_t o = 0; o < op.options.size(); ++o) {
      if (op.options[o].name != a.name) continue;
      for (std::int64_t v = a.low; v <= a.high; ++v) {
        if (target_.offers_option(op, o, static_cast<int>(v))) values.push_back(v);
      }
    }
    if (values.empty()) values.push_back(0);
    return values;
  }

  /// Runs one case; false if the property does not hold. Keeps the failure.
  bool attempt(const Case& c) {
    if (options_.leave_out && options_.leave_out(c)) {
      ++result_.skipped;
      result_.reason = "every case is covered by a waiver";
      return true;
    }
    const bool definition = claim_.spec->on == "definition";
    Check check(c, definition ? nullptr : &target_, contract_, options_.tier_of.z());
    try {
      std::optional<ReadingScope> fp64;
      if (definition) fp64.emplace(Reading{&contract_, false, options_.tier_of.z()});
      claim_.property(check);
      if (check.compared() == 0 && !check.stated_empty())
        throw Failure{"the property compared nothing", "", "at least one comparison", "none", ""};
    } catch (const NotOffered& e) {
      ++result_.skipped;
      result_.reason = e.what;
      return true;
    } catch (const Failure& f) {
      failing_ = c;
      ran_ = check.c;
      result_.failure = f;
      result_.observed.reset();
      if (check.last())
        result_.observed = std::make_shared<const Observed>(Observed{check.last()->first, check.last()->second});
      if (check.last() && observed_.size() < 12) observed_.push_back(*result_.observed);
      return false;
    } catch (const Error& e) {
      failing_ = c;
      ran_ = check.c;
      result_.failure = {std::string("error: ") + e.what(), "", "", "", ""};
      return false;
    }
    ++result_.cases;
    result_.compared += check.compared();
    result_.largest_z = std::max(result_.largest_z, check.largest_z());
    result_.suspects += check.suspects();
    lowest_ = std::min(lowest_, check.lowest());
    highest_ = std::max(highest_, check.highest());
    asked_ = asked_ || check.asked();
    return true;
  }

  void count(const Case& c) {
    for (std::size_t i = 0; i < space_.axes().size(); ++i) {
      const Axis& a = space_.axes()[i];
      if (a.kind == Axis::Kind::option)
        ++result_.drawn[a.name + "=" + a.names[static_cast<std::size_t>(c.values()[i])]];
    }
  }

  bool offered(const Case& c) const {
    for (std::size_t i = 0; i < allowed_.size(); ++i) {
      const auto& values = allowed_[i];
      if (!values.empty() && std::find(values.begin(), values.end(), c.values()[i]) == values.end()) return false;
    }
    return true;
  }

  void corners() {
    std::vector<std::string> all = space_.page().cases.corners;
    const bool universal = claim_.page == nullptr, accuracy = claim_.id.ends_with(".accuracy");
    if (space_.page().has_op && (universal || accuracy))
      for (const std::string& text : target_.corners(space_.op())) all.push_back(text);
    for (const std::string& text : all) {
      const Case c = Case::parse(space_, text);
      if (!offered(c)) {
        ++result_.skipped;
        continue;
      }
      count(c);
      if (attempt(c)) continue;
      if (options_.shrink) shrink(c);
      return;
    }
  }

  void random() {
    const int cases = options_.cases >= 0 ? options_.cases : options_.tier_of.cases;
    if (cases > 0) check(cases, options_.seed, [this] { return drawn(); });
  }

  /// A corner that fails is shrunk as a random case would be: each coordinate towards its default, while it still
  /// fails.
  void shrink(const Case& corner) {
    Case smallest = corner;
    const Failure first = result_.failure;
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (std::size_t i = 0; i < space_.axes().size(); ++i) {
        const Axis& a = space_.axes()[i];
        const std::int64_t goal = a.kind == Axis::Kind::size ? a.low : a.kind == Axis::Kind::also ? a.standard : 0;
        for (std::int64_t v = goal; v != smallest.values()[i]; v = v + (smallest.values()[i] - v + 1) / 2) {
          std::vector<std::int64_t> values = smallest.values();
          values[i] = v;
          const Case tried(space_, values);
          if (offered(tried) && !attempt(tried)) {
            smallest = tried;
            smaller = true;
            break;
          }
          if (v > smallest.values()[i]) break;
        }
      }
    }
    attempt(smallest);
    failing_ = smallest;
  }

  /// Draws a case inside RapidCheck. inRange scales with the size and would never reach the last values: so resize.
  Case drawn() {
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < space_.axes().size(); ++i) {
      const Axis& a = space_.axes()[i];
      const auto& choice = allowed_[i];
      const std::int64_t n = choice.empty() ? a.high - a.low + 1 : static_cast<std::int64_t>(choice.size());
      const std::int64_t at = *rc::gen::resize(100, rc::gen::inRange<std::int64_t>(0, n));
      values.push_back(choice.empty() ? a.low + at : choice[static_cast<std::size_t>(at)]);
    }
    return {space_, values};
  }

  template <class Draw>
  void check(int cases, std::uint64_t seed, Draw draw) {
    rc::detail::TestParams params;
    params.seed = seed;
    params.maxSuccess = cases;
    params.disableShrinking = !options_.shrink;
    Silence silence;
    std::exception_ptr broken;
    std::optional<Case> last_failing, last_ran;
    Failure last_failure;
    rc::detail::checkTestable(
        [&] {
          const Case c = draw();
          if (!last_failing) count(c);
          bool holds = true;
          try {
            holds = attempt(c);
          } catch (...) {  // kept and thrown again below, outside RapidCheck
            broken = std::current_exception();
          }
          if (!holds) {
            last_failing = c;
            last_ran = ran_;
            last_failure = result_.failure;
          }
          RC_ASSERT(holds);
        },
        rc::detail::TestMetadata{claim_.id, claim_.id}, params, silence,
        std::unordered_map<std::string, rc::detail::Reproduce>{});
    if (broken) std::rethrow_exception(broken);
    if (last_failing) {
      failing_ = last_failing;
      ran_ = last_ran;
      result_.failure = last_failure;
    }
  }

  /// The failing case as its property made it (`check.with("B", 1)`), if that case fails too: what is printed must be
  /// what a replay runs. A property may take another way from it, and then the case that was drawn is the one to
  /// replay.
  Case as_run() {
    const Case drawn = *failing_, ran = *ran_;
    if (ran.values() == drawn.values()) return drawn;
    const Result kept = result_;
    const std::vector<Observed> observed = observed_;
    const bool fails = !attempt(ran);
    const bool same = fails && result_.failure.what == kept.failure.what;
    result_ = kept;
    observed_ = observed;
    failing_ = drawn;
    return same ? ran : drawn;
  }

  void settle() {
    if (failing_) {
      result_.verdict = Result::Verdict::failed;
      ++result_.cases;
      result_.failing_case = as_run().spell();
      if (options_.fingerprints) result_.fingerprint = fingerprint(observed_, options_.tier_of.z());
      return;
    }
    if (result_.cases == 0) {
      result_.verdict = result_.skipped > 0 ? Result::Verdict::not_offered : Result::Verdict::broken;
      if (result_.skipped == 0) result_.reason = "no case ran";
      return;
    }
    if (options_.only_case.empty() && options_.cases < 0 && options_.tier_of.name != "quick") require_all_drawn();
    if (options_.only_case.empty()) {
      require_comparisons();
      require_target();
      require_variety();
    }
  }

  /// Single cases may have nothing to compare, and say so; all of them together may not.
  void require_comparisons() {
    if (result_.compared > 0 || result_.cases < 10) return;
    result_.verdict = Result::Verdict::broken;
    result_.reason = "no case compared anything";
  }

  /// What never runs the target says nothing about it.
  void require_target() {
    if (asked_ || claim_.spec->on != "target" || result_.cases < 10) return;
    result_.verdict = Result::Verdict::broken;
    result_.reason = "no case ran the target, though the claim is on: target";
  }

  /// A claim whose expected values are all (nearly) one number would pass a target that returns that number.
  void require_variety() {
    if (!(lowest_ <= highest_) || result_.cases < 10) return;
    if (highest_ - lowest_ > contract_.out->u() * std::max(std::fabs(lowest_), std::fabs(highest_))) return;
    result_.verdict = Result::Verdict::broken;
    result_.reason = fmt::format("vacuous: every expected value was about {:g}", highest_);
  }

  void require_all_drawn() {
    for (std::size_t i = 0; i < allowed_.size(); ++i) {
      const Axis& a = space_.axes()[i];
      if (a.kind != Axis::Kind::option) continue;
      for (const std::int64_t v : allowed_[i]) {
        const std::string key = a.name + "=" + a.names[static_cast<std::size_t>(v)];
        if (result_.drawn[key] > 0) continue;
        result_.verdict = Result::Verdict::broken;
        result_.reason = "the option value " + key + " was never drawn";
      }
    }
  }

  const Claim& claim_;
  Space space_;
  Target& target_;
  const Contract& contract_;
  const RunOptions& options_;
  std::vector<std::vector<std::int64_t>> allowed_;
  std::optional<Case> failing_;
  std::optional<Case> ran_;                         // the same after the property changed it
  double lowest_ = infinity, highest_ = -infinity;  // of the values that accuracy expected
  bool asked_ = false;                              // whether any case ran the target
  std::vector<Observed> observed_;                  // failing calls met while shrinking
  Result result_;
};

}  // namespace

double Tier::z() const { return z_of(elements); }

const Tier& tier(const std::string& name) {
  static const std::vector<Tier> tiers = {{"quick", 20, 1e6}, {"default", 150, 4e7}, {"thorough", 2000, 1e9}};
  for (const Tier& t : tiers) {
    if (t.name == name) return t;
  }
  throw Error("no such tier", "quick, default or thorough", name);
}

bool applies(const Claim& claim, Target& target) {
  if (claim.spec->on == "definition") return target.name() == "reference";
  if (claim.spec->on == "process") return target.is_group();
  if (claim.spec->on == "machine") return target.machine() != nullptr;
  return claim.spec->on == "target";
}

Result run_claim(const Claim& claim, const Page& page, Target& target, const Contract& contract,
                 const RunOptions& options) {
  return Runner(claim, page, target, contract, options).run();
}

}  // namespace assay
