#pragma once
#include <functional>

#include "conformance/engine/claim.hpp"
#include "conformance/engine/suite.hpp"

namespace assay {

/// The definition, with answers changed on the way: what a test needs of a kernel that is wrong somewhere.
class FakeTarget : public Target {
 public:
  explicit FakeTarget(std::function<void(const Call&, Answer&)> change = {}) : change_(std::move(change)) {}
  std::string name() const override { return "fake"; }
  std::vector<Contract> contracts(const OpSpec& op) const override {
    return op.name == "softmax" ? offered : std::vector<Contract>{};
  }
  bool offers_output(const OpSpec&, const std::string& output) const override { return output != "log_p"; }
  bool offers_option(const OpSpec& op, std::size_t o, int v) const override {
    return op.options[o].name != "sink" || v == 0;
  }
  std::vector<std::string> corners(const OpSpec&) const override { return own_corners; }
  std::vector<std::string> remarks() const override { return {"a remark"}; }
  bool sees_memory() const override { return false; }
  bool same_kernel() const override { return true; }
  std::vector<Waiver> waivers() const override { return known; }
  Answer run(const Call& call, const Layout& layout) override {
    Answer a = definition_->run(call, layout);
    if (change_) change_(call, a);
    return a;
  }
  std::vector<Contract> offered = {parse_contract("fp64")};
  std::vector<Waiver> known;
  std::vector<std::string> own_corners;

 private:
  std::function<void(const Call&, Answer&)> change_;
  std::unique_ptr<Target> definition_ = make_target("reference");
};

/// Makes p wrong in calls of n columns; with n = 0 in all of them.
inline std::function<void(const Call&, Answer&)> wrong_p(Index n) {
  return [n](const Call& call, Answer& a) {
    if ((n != 0 && call.size("n") != n) || !a.outputs.has("p")) return;
    const Tensor<double> p = a.outputs["p"].clone();
    for (Index i = 0; i < p.size(); ++i) p.data()[i] = 0.25;
    a.outputs.find("p").value = p;
  };
}

inline const Claim& claim(const std::string& id) {
  for (const Claim& c : claims()) {
    if (c.id == id) return c;
  }
  throw Error("no claim", id);
}

}  // namespace assay
