#include "conformance/engine/memory.hpp"

#include <bit>
#include <cstring>

namespace assay {
namespace {

std::size_t bytes_of(const Format& f) { return static_cast<std::size_t>(f.bits + 7) / 8; }

Shape strides_of(const Shape& shape, bool strided) {
  if (!strided) return dense_strides(shape);
  Shape strides(shape.size());
  Index step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = shape[d] == 1 ? 9973 : step;  // the stride of a size of 1 means nothing
    step = (d + 1 == shape.size() ? shape[d] + 3 : shape[d]) * step;
  }
  return strides;
}

std::size_t span(const Shape& shape, const Shape& strides) {
  Index last = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return 0;
    if (shape[d] > 1) last += (shape[d] - 1) * strides[d];
  }
  return static_cast<std::size_t>(last) + 1;
}

/// Calls f(flat index, element offset) for every element, row-major.
template <class F>
void for_each(const Shape& shape, const Shape& strides, F f) {
  const Index n = count(shape);
  Shape at(shape.size(), 0);
  Index offset = 0;
  for (Index flat = 0; flat < n; ++flat) {
    f(flat, offset);
    for (std::size_t d = shape.size(); d-- > 0;) {
      const Index step = shape[d] > 1 ? strides[d] : 0;
      if (++at[d] < shape[d]) {
        offset += step;
        break;
      }
      offset -= step * (shape[d] - 1);
      at[d] = 0;
    }
  }
}

void put(std::byte* to, const Format& f, double x) {
  if (f.name == "fp32" && x == x) {
    const auto v = static_cast<float>(x);
    std::memcpy(to, &v, sizeof v);
    return;
  }
  const std::uint64_t code = encode(f, x);
  std::memcpy(to, &code, bytes_of(f));  // little-endian, as the formats are defined
}

double get(const std::byte* from, const Format& f) {
  std::uint64_t code = 0;
  std::memcpy(&code, from, bytes_of(f));
  return decode(f, code);
}

TensorBytes buffer_of(const std::string& name, const Format& f, const Shape& shape, bool strided) {
  TensorBytes b;
  b.name = name;
  b.dtype = std::string(f.name);
  b.shape = shape;
  b.strides = strides_of(shape, strided);
  return b;
}

}  // namespace

static_assert(std::endian::native == std::endian::little);

Request make_request(const std::string& target, const Call& call, const std::vector<std::string>& outputs,
                     const Layout& layout) {
  Request r;
  r.target = target;
  r.op = call.op->name;
  r.contract = call.contract.spell();
  r.guard = layout.guard_before ? Guard::before : Guard::after;
  r.poison = layout.other_poison ? kOtherPoison : kPoison;
  for (std::size_t i = 0; i < call.options.size(); ++i)
    r.options.push_back({call.op->options[i].name, call.option_text(i), call.options[i]});
  for (const Named& t : call.inputs.all()) {
    TensorBytes b = buffer_of(t.name, *t.format, t.value.shape(), layout.strided);
    const std::size_t width = bytes_of(*t.format);
    b.bytes.assign(span(b.shape, b.strides) * width, std::byte{0xEE});
    for_each(b.shape, b.strides, [&](Index flat, Index offset) {
      put(b.bytes.data() + static_cast<std::size_t>(offset) * width, *t.format, t.value.at_flat(flat));
    });
    r.inputs.push_back(std::move(b));
  }
  for (const TensorSpec& spec : call.op->outputs) {
    for (const std::string& wanted : outputs) {
      if (spec.name == wanted)
        r.outputs.push_back(buffer_of(spec.name, format_of(spec, call.contract), shape_of(spec, call), layout.strided));
    }
  }
  return r;
}

Answer read_reply(const Reply& reply, const Request& request, const Call& call) {
  Answer a;
  a.message = reply.message;
  switch (reply.kind) {
    case Reply::Kind::ok:
      break;
    case Reply::Kind::unsupported:
      a.kind = Answer::Kind::unsupported;
      return a;
    case Reply::Kind::error:
      a.kind = Answer::Kind::refused;
      return a;
    default:
      a.kind = Answer::Kind::broken;
      return a;
  }
  for (const TensorBytes& b : reply.outputs) {
    const TensorSpec* spec = nullptr;
    for (const TensorSpec& s : call.op->outputs) {
      if (s.name == b.name) spec = &s;
    }
    if (spec == nullptr)
      throw Error("the worker returned an output that was not asked for", "an output of " + call.op->name, b.name);
    const Format& f = format_of(*spec, call.contract);
    const std::size_t width = bytes_of(f);
    Tensor<double> value(b.shape);
    for_each(b.shape, b.strides, [&](Index flat, Index offset) {
      value.data()[flat] = get(b.bytes.data() + static_cast<std::size_t>(offset) * width, f);
    });
    a.outputs.set(b.name, value, &f);
    if (!untouched(b, request.poison).empty()) a.unwritten.push_back(b.name);
  }
  return a;
}

}  // namespace assay
