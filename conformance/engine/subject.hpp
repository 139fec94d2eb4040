#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "conformance/abi/plugin.h"

// What a subject file includes. A subject is an independent implementation of an op in float arithmetic, as a kernel
// would be written, seen through the plugin ABI. Its named edits are bugs that somebody shipped:
//   SUBJECT(softmax) { const In x = s.in("x"); ... float top = s.bug("finite_mask") ? -1e4f : -INFINITY; ... }
namespace assay {

/// A tensor that a subject reads: elements of any format as float.
class In {
 public:
  explicit In(const assay_tensor* tensor) : t_(tensor) {}
  bool given() const { return t_ != nullptr; }
  std::int64_t size(int dim) const { return t_->shape[dim]; }
  float operator()(std::int64_t i) const { return load(i * t_->strides[0]); }
  float operator()(std::int64_t i, std::int64_t j) const { return load(i * t_->strides[0] + j * t_->strides[1]); }
  float operator()(std::int64_t i, std::int64_t j, std::int64_t k) const {
    return load(i * t_->strides[0] + j * t_->strides[1] + k * t_->strides[2]);
  }
  float operator()(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) const {
    return load(i * t_->strides[0] + j * t_->strides[1] + k * t_->strides[2] + l * t_->strides[3]);
  }

  /// An element of a tensor of int32 (Subject::indices).
  std::int64_t index(std::int64_t i) const { return integer(i * t_->strides[0]); }
  std::int64_t index(std::int64_t i, std::int64_t j) const { return integer(i * t_->strides[0] + j * t_->strides[1]); }

  /// Writes to the input (a planted bug).
  void overwrite(std::int64_t i, std::int64_t j, float value) const;
  void overwrite(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l, float value) const;

 private:
  float load(std::int64_t offset) const;
  std::int64_t integer(std::int64_t offset) const;
  const assay_tensor* t_;
};

/// A tensor that a subject writes: float rounded to the tensor's format, nearest even.
class Out {
 public:
  explicit Out(const assay_tensor* tensor) : t_(tensor) {}
  bool wanted() const { return t_ != nullptr; }
  void set(std::int64_t i, float value) const { store(i * t_->strides[0], value, false); }
  void set(std::int64_t i, std::int64_t j, float value) const {
    store(i * t_->strides[0] + j * t_->strides[1], value, false);
  }
  void set(std::int64_t i, std::int64_t j, std::int64_t k, float value) const {
    store(i * t_->strides[0] + j * t_->strides[1] + k * t_->strides[2], value, false);
  }
  void set(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l, float value) const {
    store(i * t_->strides[0] + j * t_->strides[1] + k * t_->strides[2] + l * t_->strides[3], value, false);
  }
  /// Truncates instead (a planted bug).
  void set_truncated(std::int64_t i, std::int64_t j, float value) const {
    store(i * t_->strides[0] + j * t_->strides[1], value, true);
  }
  /// The value as the tensor's format holds it.
  float rounded(float value) const;
  /// The machine epsilon of the tensor's format: the gap above 1.
  float epsilon() const;

 private:
  void store(std::int64_t offset, float value, bool truncate) const;
  const assay_tensor* t_;
};

/// The call as a subject sees it.
class Subject {
 public:
  Subject(const assay_call* call, std::string_view bug) : call_(call), bug_(bug) {}
  In in(std::string_view name) const;  // In(nullptr) if the call has no such tensor
  /// A tensor of int32. Throws Error for any other type, unless a planted bug does not look.
  In indices(std::string_view name, bool unseen_type = false) const;
  Out out(std::string_view name) const;  // Out(nullptr) if it is not wanted
  /// Whether an option has this value; throws Error if the op has no such option.
  bool option(std::string_view name, std::string_view value) const;
  float number(std::string_view name) const;
  /// Whether the planted bug of this name is on.
  bool bug(std::string_view name) const {
    note(name);
    return bug_ == name;
  }
  /// The names bug() was asked for: a misspelt one would never be on.
  const std::vector<std::string_view>& bugs_asked() const { return asked_; }
  /// Refuses the call with a text.
  [[noreturn]] void refuse(const char* why) const;
  /// A float rounded to bf16, to fp16.
  static float bf16(float value);
  static float fp16(float value);

 private:
  void note(std::string_view name) const {  // in inner loops: a literal is known by its address
    for (const std::string_view seen : asked_) {
      if (seen.data() == name.data()) return;
    }
    asked_.push_back(name);
  }
  const assay_call* call_;
  std::string_view bug_;
  mutable std::vector<std::string_view> asked_;
};

using SubjectFn = void (*)(Subject&);
struct RegisterSubject {
  RegisterSubject(const char* op, SubjectFn run);
};
/// nullptr if there is none.
SubjectFn subject_of(std::string_view op);

#define SUBJECT(op)                                                                            \
  static void assay_subject_##op(::assay::Subject&);                                           \
  static const ::assay::RegisterSubject assay_register_subject_##op(#op, &assay_subject_##op); \
  static void assay_subject_##op(::assay::Subject& s)

}  // namespace assay
