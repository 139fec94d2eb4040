#include "gpu/machine/system_calls.hpp"

#include <bit>
#include <cstdio>
#include <cstring>

namespace assay::gpu {
namespace {

constexpr std::size_t longest = 4096;  // of a string that a kernel prints, and of a line

template <class T>
T argument(const Warp& w, int lane, Ref r) {
  T x{};
  const Range& local = w.local[static_cast<std::size_t>(lane)];
  std::memcpy(&x, local.data.data() + w.frame->local_base + r.at, sizeof x);
  return x;
}

std::string string_at(Warp& w, std::uint64_t generic, const Instruction& n, int lane) {
  std::string text;
  while (text.size() < longest) {
    const Spot spot = w.at(Space::generic, generic + text.size(), 1, false, n, lane);
    if (spot.data == nullptr || *spot.data == 0) break;
    text += static_cast<char>(*spot.data);
  }
  return text;
}

/// One conversion of printf; the arguments lie one after the other, each aligned to its size.
std::string converted(Warp& w, const std::string& spec, std::uint64_t& at, const Instruction& n, int lane) {
  const char kind = spec.back();
  const bool wide =
      spec.find('l') != std::string::npos || kind == 's' || kind == 'p' || std::strchr("feEgGaA", kind) != nullptr;
  const int bytes = wide ? 8 : 4;
  at = (at + static_cast<std::uint64_t>(bytes) - 1) / static_cast<std::uint64_t>(bytes) *
       static_cast<std::uint64_t>(bytes);
  const Spot spot = w.at(Space::generic, at, bytes, false, n, lane);
  at += static_cast<std::uint64_t>(bytes);
  if (spot.data == nullptr) return "?";
  std::uint64_t bits = 0;
  std::memcpy(&bits, spot.data, static_cast<std::size_t>(bytes));
  if (kind == 's') return string_at(w, bits, n, lane);
  std::string plain;
  for (const char c : spec)
    if (c != 'l' && c != 'h' && c != 'z') plain += c;
  char text[512];
  if (std::strchr("feEgGaA", kind) != nullptr) {
    std::snprintf(text, sizeof text, plain.c_str(), std::bit_cast<double>(bits));
  } else if (kind == 'c') {
    std::snprintf(text, sizeof text, plain.c_str(), static_cast<int>(bits));
  } else if (kind == 'p') {
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bits));
  } else {
    plain.insert(plain.size() - 1, "ll");
    const bool is_signed = kind == 'd' || kind == 'i';
    const auto value = bytes == 8  ? static_cast<long long>(bits)
                       : is_signed ? static_cast<long long>(static_cast<std::int32_t>(bits))
                                   : static_cast<long long>(static_cast<std::uint32_t>(bits));
    std::snprintf(text, sizeof text, plain.c_str(), value);
  }
  return text;
}

std::string formatted(Warp& w, std::uint64_t format, std::uint64_t arguments, const Instruction& n, int lane) {
  const std::string f = string_at(w, format, n, lane);
  std::string out;
  for (std::size_t i = 0; i < f.size() && out.size() < longest; ++i) {
    if (f[i] != '%' || i + 1 == f.size()) {
      out += f[i];
    } else if (f[i + 1] == '%') {
      out += f[++i];
    } else {
      std::size_t end = i + 1;
      while (end < f.size() && std::strchr("0123456789.+-# lhz", f[end]) != nullptr) ++end;
      const bool known = end < f.size() && end - i < 16 && std::strchr("diouxXcspfeEgGaA", f[end]) != nullptr;
      out += known ? converted(w, f.substr(i, end + 1 - i), arguments, n, lane) : f.substr(i, 1);
      if (known) i = end;
    }
  }
  return out;
}

}  // namespace

Step system_call(Warp& w, const Instruction& n, Mask active, const Code& callee, const std::vector<Ref>& arguments) {
  if (callee.name == "vprintf" && arguments.size() == 2) {
    for (Mask rest = active; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const auto text = formatted(w, argument<std::uint64_t>(w, lane, arguments[0]),
                                  argument<std::uint64_t>(w, lane, arguments[1]), n, lane);
      if (w.cta.grid.printed.size() < (std::size_t{1} << 20)) w.cta.grid.printed += text;
      // The result, the number of arguments, is of no use to anybody; it is there.
      const std::vector<Ref>& results = w.frame->code->lists[static_cast<std::size_t>(n.more)];
      if (results.empty()) continue;
      Range& local = w.local[static_cast<std::size_t>(lane)];
      const auto at = static_cast<std::size_t>(w.frame->local_base + results[0].at);
      std::memset(local.data.data() + at, 0, 4);
      std::memset(local.state.data() + at, static_cast<int>(Byte::defined), 4);
    }
    return Step::next;
  }
  const int lane = std::countr_zero(active);
  if (callee.name == "__assertfail" && arguments.size() == 5) {
    const auto text = [&](std::size_t k) {
      return string_at(w, argument<std::uint64_t>(w, lane, arguments[k]), n, lane);
    };
    w.report("assert", n, lane,
             "assertion '" + text(0) + "' failed, " + text(1) + ":" +
                 std::to_string(argument<std::uint32_t>(w, lane, arguments[2])));
  } else {
    w.report("call", n, lane, "function " + callee.name + " is called, and nothing defines it");
  }
  w.cta.stopped = true;
  return Step::wait;
}

}  // namespace assay::gpu
