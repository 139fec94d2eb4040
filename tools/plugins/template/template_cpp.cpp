// A plugin in C++, to copy: softmax and RMS norm that read and write 16-bit numbers (or fp32) and compute in float, as
// kernels do. One rounding, of the result; everything between is float.
#include <assay/plugin.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// ---- 16-bit formats ----

float from_bits(uint32_t bits) {
  float v;
  std::memcpy(&v, &bits, sizeof(v));
  return v;
}

uint32_t to_bits(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof(bits));
  return bits;
}

float read_bf16(uint16_t code) { return from_bits(static_cast<uint32_t>(code) << 16); }

// To nearest, ties to even. Adding half an ulp less one, plus the lowest kept bit, carries exactly when it must.
uint16_t write_bf16(float v) {
  const uint32_t bits = to_bits(v);
  if (v != v) return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float read_fp16(uint16_t code) {
  const int exponent = code >> 10 & 31, mantissa = code & 1023;
  const float magnitude = exponent == 31  ? (mantissa ? NAN : INFINITY)
                          : exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                                          : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return code & 0x8000 ? -magnitude : magnitude;
}

// To nearest, ties to even: nearbyint on the grid of the result.
uint16_t write_fp16(float v) {
  if (v != v) return 0x7E00;
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  const float magnitude = std::fabs(v);
  if (magnitude >= 65520) return static_cast<uint16_t>(sign | 0x7C00);
  int exponent = -24;
  if (magnitude > 0) std::frexp(magnitude, &exponent);  // magnitude in [2^(exponent-1), 2^exponent)
  const int step = std::max(exponent - 11, -24);        // log2 of the distance of neighbours
  const int steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, -step)));
  // In units of the step: a normal number has 1024..2048 of them; 2048 carries into the exponent by itself.
  const int code = step == -24 ? steps : ((step + 24) << 10) + steps;
  return static_cast<uint16_t>(sign | code);
}

// ---- tensors ----

enum class Type { fp32, fp16, bf16, boolean };

Type type_of(const assay_named_tensor& t) {
  const assay_dtype d = t.tensor.dtype;
  if (d.code == ASSAY_FLOAT && d.bits == 32) return Type::fp32;
  if (d.code == ASSAY_FLOAT && d.bits == 16) return Type::fp16;
  if (d.code == ASSAY_BFLOAT && d.bits == 16) return Type::bf16;
  if (d.code == ASSAY_BOOL && d.bits == 8) return Type::boolean;
  throw std::invalid_argument(std::string("this type of tensor ") + t.name);
}

// A strided tensor, read and written as float whatever it holds.
class View {
 public:
  explicit View(const assay_named_tensor& t) : t_(t.tensor), type_(type_of(t)) {}
  // Throws unless the tensor has this shape.
  const View& demand(std::initializer_list<int64_t> shape) const {
    if (t_.ndim != static_cast<int32_t>(shape.size()) || !std::equal(shape.begin(), shape.end(), t_.shape))
      throw std::runtime_error("the shapes of the tensors do not fit together");
    return *this;
  }
  int rank() const { return t_.ndim; }
  int64_t size(int d) const { return t_.shape[d]; }
  float get(int64_t i, int64_t j) const { return load(i * t_.strides[0] + j * t_.strides[1]); }
  float get(int64_t i) const { return load(i * t_.strides[0]); }
  void set(int64_t i, int64_t j, float v) const { store(i * t_.strides[0] + j * t_.strides[1], v); }
  void set(int64_t i, float v) const { store(i * t_.strides[0], v); }

 private:
  char* data() const { return static_cast<char*>(t_.data) + t_.byte_offset; }
  float load(int64_t k) const {
    switch (type_) {
      case Type::fp32:
        return reinterpret_cast<const float*>(data())[k];
      case Type::fp16:
        return read_fp16(reinterpret_cast<const uint16_t*>(data())[k]);
      case Type::bf16:
        return read_bf16(reinterpret_cast<const uint16_t*>(data())[k]);
      case Type::boolean:
        return data()[k] != 0;
    }
    return NAN;
  }
  void store(int64_t k, float v) const {
    if (type_ == Type::fp32) reinterpret_cast<float*>(data())[k] = v;
    if (type_ == Type::fp16) reinterpret_cast<uint16_t*>(data())[k] = write_fp16(v);
    if (type_ == Type::bf16) reinterpret_cast<uint16_t*>(data())[k] = write_bf16(v);
  }
  assay_tensor t_;
  Type type_;
};

const assay_named_tensor* find(const assay_named_tensor* list, size_t n, const char* name) {
  for (size_t i = 0; i < n; ++i)
    if (std::strcmp(list[i].name, name) == 0) return &list[i];
  return nullptr;
}

const assay_named_tensor& input(const assay_call& call, const char* name) {
  const assay_named_tensor* t = find(call.inputs, call.n_inputs, name);
  if (t == nullptr) throw std::runtime_error(std::string("the call lacks input ") + name);
  return *t;
}

const assay_option& option(const assay_call& call, const char* name) {
  for (size_t i = 0; i < call.n_options; ++i)
    if (std::strcmp(call.options[i].name, name) == 0) return call.options[i];
  throw std::runtime_error(std::string("the call lacks option ") + name);
}

// Every option but `known` must be at its default. invalid_argument becomes "not supported".
void defaults_but(const assay_call& call, const char* known) {
  for (size_t i = 0; i < call.n_options; ++i)
    if (std::strcmp(call.options[i].name, known) != 0 && call.options[i].number != 0)
      throw std::invalid_argument(std::string("option ") + call.options[i].name + "=" + call.options[i].value);
}

// ---- the ops ----

// x [T, n], mask [T, n] -> p [T, n], log_p [T, n], lse [T]
void softmax(const assay_call& call) {
  defaults_but(call, "mask");
  const View x(input(call, "x"));
  const assay_named_tensor* mask = find(call.inputs, call.n_inputs, "mask");
  if (x.rank() != 2) throw std::runtime_error("softmax needs x [T, n]");
  const int64_t n = x.size(1);
  if (mask != nullptr) View(*mask).demand({x.size(0), n});
  for (size_t o = 0; o < call.n_outputs; ++o) {
    const View out(call.outputs[o]);
    std::strcmp(call.outputs[o].name, "lse") == 0 ? out.demand({x.size(0)}) : out.demand({x.size(0), n});
  }
  std::vector<float> shifted(static_cast<size_t>(n)), e(static_cast<size_t>(n));
  for (int64_t i = 0; i < x.size(0); ++i) {
    const auto value = [&](int64_t j) {
      return mask == nullptr || View(*mask).get(i, j) != 0 ? x.get(i, j) : -INFINITY;
    };
    float max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < n; ++j) max = value(j) > max || std::isnan(value(j)) ? value(j) : max;
    const bool empty = max == -INFINITY;
    for (int64_t j = 0; j < n; ++j) {
      const auto k = static_cast<size_t>(j);
      shifted[k] = value(j) == -INFINITY ? -INFINITY : value(j) - max;
      e[k] = std::exp(shifted[k]);
      sum += e[k];
    }
    for (size_t o = 0; o < call.n_outputs; ++o) {
      const View out(call.outputs[o]);
      const std::string name = call.outputs[o].name;
      if (name == "lse") {
        out.set(i, empty ? -INFINITY : max + std::log(sum));
        continue;
      }
      for (int64_t j = 0; j < n; ++j) {
        const auto k = static_cast<size_t>(j);
        out.set(i, j, name == "p" ? (empty ? 0 : e[k] / sum) : (empty ? -INFINITY : shifted[k] - std::log(sum)));
      }
    }
  }
}

// x [T, d], w [d] -> y [T, d] = w x / sqrt(mean(x^2) + eps)
void rms_norm(const assay_call& call) {
  defaults_but(call, "eps");
  const View x(input(call, "x")), w(input(call, "w")), y(call.outputs[0]);
  if (x.rank() != 2) throw std::runtime_error("rms_norm needs x [T, d]");
  w.demand({x.size(1)});
  y.demand({x.size(0), x.size(1)});
  const auto eps = static_cast<float>(option(call, "eps").number);
  for (int64_t i = 0; i < x.size(0); ++i) {
    float sum = 0;
    for (int64_t j = 0; j < x.size(1); ++j) sum += x.get(i, j) * x.get(i, j);
    const float r = 1 / std::sqrt(sum / static_cast<float>(x.size(1)) + eps);
    for (int64_t j = 0; j < x.size(1); ++j) y.set(i, j, x.get(i, j) * r * w.get(j));
  }
}

}  // namespace

extern "C" {

ASSAY_PLUGIN_EXPORT uint32_t assay_plugin_abi(void) { return ASSAY_ABI_VERSION; }

ASSAY_PLUGIN_EXPORT const char* assay_plugin_version(void) { return "1.0"; }

// No exception may leave it.
ASSAY_PLUGIN_EXPORT int assay_plugin_run(const assay_call* call) {
  try {
    const std::string op = call->op;
    if (op == "softmax")
      softmax(*call);
    else if (op == "rms_norm")
      rms_norm(*call);
    else
      throw std::invalid_argument("op " + op);
    return ASSAY_OK;
  } catch (const std::invalid_argument& e) {
    std::snprintf(call->error, call->error_size, "%s is not offered", e.what());
    return ASSAY_UNSUPPORTED;
  } catch (const std::exception& e) {
    std::snprintf(call->error, call->error_size, "%s", e.what());
    return ASSAY_ERROR;
  }
}
}
