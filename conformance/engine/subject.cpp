#include "conformance/engine/subject.hpp"

#include <bit>
#include <cstring>
#include <map>
#include <string>

#include "reference/core/error.hpp"
#include "reference/core/format.hpp"

namespace assay {
namespace {

std::map<std::string, SubjectFn, std::less<>>& subjects() {
  static std::map<std::string, SubjectFn, std::less<>> all;
  return all;
}

bool is(const assay_dtype& t, int code, int bits) { return t.code == code && t.bits == bits && t.lanes == 1; }

const Format& format_of(const assay_dtype& t) {
  if (is(t, ASSAY_FLOAT, 32)) return formats::fp32;
  if (is(t, ASSAY_FLOAT, 64)) return formats::fp64;
  if (is(t, ASSAY_FLOAT, 16)) return formats::fp16;
  if (is(t, ASSAY_BFLOAT, 16)) return formats::bf16;
  if (is(t, ASSAY_UINT, 8)) return formats::uint8;  // codes of 8-bit formats
  throw Error("a subject was given a tensor type it does not know", "fp64, fp32, fp16, bf16, uint8 or bool",
              "code " + std::to_string(t.code) + ", " + std::to_string(t.bits) + " bits");
}

template <class V>
V read(const assay_tensor* t, std::int64_t offset) {
  V v;
  std::memcpy(&v, static_cast<const char*>(t->data) + t->byte_offset + offset * static_cast<std::int64_t>(sizeof(V)),
              sizeof v);
  return v;
}
template <class V>
void write(const assay_tensor* t, std::int64_t offset, V v) {
  std::memcpy(static_cast<char*>(t->data) + t->byte_offset + offset * static_cast<std::int64_t>(sizeof(V)), &v,
              sizeof v);
}

}  // namespace

float In::load(std::int64_t offset) const {
  if (is(t_->dtype, ASSAY_FLOAT, 32)) return read<float>(t_, offset);
  if (is(t_->dtype, ASSAY_BFLOAT, 16))
    return std::bit_cast<float>(static_cast<std::uint32_t>(read<std::uint16_t>(t_, offset)) << 16);
  if (is(t_->dtype, ASSAY_FLOAT, 64)) return static_cast<float>(read<double>(t_, offset));
  if (t_->dtype.bits == 8) return static_cast<float>(read<std::uint8_t>(t_, offset));
  return static_cast<float>(decode(format_of(t_->dtype), read<std::uint16_t>(t_, offset)));
}

std::int64_t In::integer(std::int64_t offset) const { return read<std::int32_t>(t_, offset); }

void In::overwrite(std::int64_t i, std::int64_t j, float value) const { Out(t_).set(i, j, value); }

void In::overwrite(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l, float value) const {
  Out(t_).set(i, j, k, l, value);
}

float Out::epsilon() const { return static_cast<float>(2 * format_of(t_->dtype).u()); }
float Out::rounded(float value) const { return static_cast<float>(round_to(format_of(t_->dtype), value)); }

void Out::store(std::int64_t offset, float value, bool truncate) const {
  if (is(t_->dtype, ASSAY_FLOAT, 64)) return write(t_, offset, static_cast<double>(value));
  if (is(t_->dtype, ASSAY_FLOAT, 32)) return write(t_, offset, value);
  const Format& f = format_of(t_->dtype);
  const double to = round_to(f, value, truncate ? Round::toward_zero : Round::nearest_even);
  const std::uint64_t code = encode(f, to);
  if (f.bits == 8) return write(t_, offset, static_cast<std::uint8_t>(code));
  write(t_, offset, static_cast<std::uint16_t>(code));
}

In Subject::in(std::string_view name) const {
  for (std::uint32_t i = 0; i < call_->n_inputs; ++i) {
    if (name != call_->inputs[i].name) continue;
    const assay_tensor* const t = &call_->inputs[i].tensor;
    if (!is(t->dtype, ASSAY_BOOL, 8)) format_of(t->dtype);  // throws for a type that no subject reads
    return In(t);
  }
  return In(nullptr);
}

In Subject::indices(std::string_view name, bool unseen_type) const {
  for (std::uint32_t i = 0; i < call_->n_inputs; ++i) {
    if (name != call_->inputs[i].name) continue;
    const assay_dtype& type = call_->inputs[i].tensor.dtype;
    if (!unseen_type && !is(type, ASSAY_INT, 32))
      throw Error("a subject was given indices of a type it does not know", "int32",
                  "code " + std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits");
    return In(&call_->inputs[i].tensor);
  }
  return In(nullptr);
}

Out Subject::out(std::string_view name) const {
  for (std::uint32_t i = 0; i < call_->n_outputs; ++i) {
    if (name == call_->outputs[i].name) return Out(&call_->outputs[i].tensor);
  }
  return Out(nullptr);
}

namespace {
const assay_option& option_of(const assay_call* call, std::string_view name) {
  for (std::uint32_t i = 0; i < call->n_options; ++i) {
    if (name == call->options[i].name) return call->options[i];
  }
  throw Error("the call has no such option", "an option of op " + std::string(call->op), std::string(name));
}
}  // namespace

bool Subject::option(std::string_view name, std::string_view value) const {
  return value == option_of(call_, name).value;
}
float Subject::number(std::string_view name) const { return static_cast<float>(option_of(call_, name).number); }
void Subject::refuse(const char* why) const { throw Error(why); }
float Subject::bf16(float value) { return static_cast<float>(round_to(formats::bf16, value)); }

float Subject::fp16(float value) { return static_cast<float>(round_to(formats::fp16, value)); }

RegisterSubject::RegisterSubject(const char* op, SubjectFn run) { subjects()[op] = run; }

SubjectFn subject_of(std::string_view op) {
  const auto at = subjects().find(op);
  return at == subjects().end() ? nullptr : at->second;
}

}  // namespace assay
