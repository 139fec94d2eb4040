#pragma once
#include <string>

#include "conformance/attention/chunks.hpp"

// A random walk through equal forms of attention on one case. A form either computes a head, or rewrites it into heads
// that it hands on: a walk is a tree of rewrites with a computing form at each leaf. Whatever it does, O and L are
// those of core attention.
namespace assay {

class Walk {
 public:
  /// `name` seeds the choices; `depth` is the most rewrites on a path.
  Walk(const Check& check, std::string name, int depth) : check_(check), name_(std::move(name)), depth_(depth) {}
  Attention<Bound> run(const Head& head) { return step(head, depth_); }
  /// What was done: "queries(keys(flash2 4x3, online), core)".
  const std::string& path() const { return path_; }

 private:
  Index pick(Index low, Index high) { return check_.pick(name_ + std::to_string(picks_++), low, high); }
  Attention<Bound> step(const Head& head, int depth);
  Attention<Bound> compute(const Head& head);
  Attention<Bound> compute_stored(const Head& head);
  Attention<Bound> split_queries(const Head& head, int depth);
  Attention<Bound> decode(const Head& head, int depth);
  Attention<Bound> split_keys(const Head& head, int depth);
  Attention<Bound> permute_keys(const Head& head, int depth);
  Attention<Bound> pad_keys(const Head& head, int depth);
  Attention<Bound> fold_scale(const Head& head, int depth);
  SoftmaxMean<Bound> merge(std::vector<SoftmaxMean<Bound>> parts);

  const Check& check_;
  std::string name_, path_;
  int depth_, picks_ = 0;
};

}  // namespace assay
