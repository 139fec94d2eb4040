#include <cstring>

#include "gpu/machine/access.hpp"

// ld, st and what hints at them.
namespace assay::gpu {
namespace {

using U = std::uint32_t;
using U64 = std::uint64_t;
constexpr std::uint8_t sign_flag = 8;

/// Caches, levels and hints have no meaning here; orders do.
void take_hints(Decoder& d, Instruction& i) {
  for (auto part = d.left.begin(); part != d.left.end();) {
    const bool hint = part->rfind("L1::", 0) == 0 || part->rfind("L2::", 0) == 0 || part->rfind("level::", 0) == 0 ||
                      *part == "nc" || *part == "ca" || *part == "cg" || *part == "cs" || *part == "lu" ||
                      *part == "cv" || *part == "wb" || *part == "wt" || *part == "weak" || *part == "unified";
    part = hint ? d.left.erase(part) : part + 1;
  }
  if (d.one_of({"relaxed", "acquire", "release", "volatile", "mmio"}) >= 0) {
    d.code.orders_global = true;
    i.flags |= Instruction::strong;
  }
  d.one_of({"cta", "cluster", "gpu", "sys"});
}

int take_vector(Decoder& d) {
  const int v = d.one_of({"v2", "v4", "v8"});
  return v < 0 ? 1 : 2 << v;
}

/// Bytes of a register operand that a value of t goes to: signed values fill all of it.
template <int bytes>
Step load(Warp& w, const Instruction& n, Mask active) {
  const std::vector<Ref>& to = w.frame->code->lists[static_cast<std::size_t>(n.more)];
  const Addresses at = addresses(w, n, n.a, active);
  const int count = static_cast<int>(to.size());
  std::array<Mask, 8> known{};
  for_lanes(at.known, [&](int l) {
    const Spot spot = w.at(static_cast<Space>(n.mode), at[l], bytes * count, false, n, l);
    const bool there = spot.data != nullptr && settled(w, n, l, spot.state, bytes * count, false);
    for (int k = 0; k < count; ++k) {
      U64 x = 0;
      if (there) {
        std::memcpy(&x, spot.data + bytes * k, bytes);
        if (all_are(spot.state + bytes * k, bytes, Byte::defined)) known[static_cast<std::size_t>(k)] |= 1U << l;
      }
      const Ref r = to[static_cast<std::size_t>(k)];
      if constexpr (bytes < 8) {
        if ((n.flags & sign_flag) != 0) {
          const int shift = 64 - 8 * bytes;
          x = static_cast<U64>(static_cast<std::int64_t>(x << shift) >> shift);
        }
        if (n.target == 64)
          w.out<U64>(r)[l] = x;
        else
          w.out<U>(r)[l] = n.target == 16 ? static_cast<U>(x) & 0xffff : static_cast<U>(x);
      } else {
        w.out<U64>(r)[l] = x;
      }
    }
  });
  for (int k = 0; k < count; ++k) w.define(to[static_cast<std::size_t>(k)], active, known[static_cast<std::size_t>(k)]);
  return Step::next;
}

template <int bytes>
Step store(Warp& w, const Instruction& n, Mask active) {
  const std::vector<Ref>& from = w.frame->code->lists[static_cast<std::size_t>(n.more)];
  const Addresses at = addresses(w, n, n.a, active);
  const int count = static_cast<int>(from.size());
  for_lanes(at.known, [&](int l) {
    const Spot spot = w.at(static_cast<Space>(n.mode), at[l], bytes * count, true, n, l);
    if (spot.data == nullptr || !settled(w, n, l, spot.state, bytes * count, true)) return;
    for (int k = 0; k < count; ++k) {
      const Ref r = from[static_cast<std::size_t>(k)];
      const U64 x = n.target == 64 ? w.in<U64>(r)[l] : w.in<U>(r)[l];
      std::memcpy(spot.data + bytes * k, &x, bytes);
      std::memset(spot.state + bytes * k, static_cast<int>(ptx::has(w.defined(r), l) ? Byte::defined : Byte::undefined),
                  bytes);
    }
  });
  return Step::next;
}

template <class Make>
Handler by_bytes(const Decoder& d, const Type& t, const Make& make) {
  switch (t.bits) {
    case 8:
      return make.template operator()<1>();
    case 16:
      return make.template operator()<2>();
    case 32:
      return make.template operator()<4>();
    case 64:
      return make.template operator()<8>();
    default:
      d.fail("a type of 8 to 64 bits is expected");
  }
}

std::vector<Ref> values(Decoder& d, const Operand& o, const Type& t, int vector, bool destination) {
  const std::vector<Operand> parts = o.what == Operand::What::vector ? o.parts : std::vector<Operand>{o};
  if (static_cast<int>(parts.size()) != vector) d.fail(std::to_string(vector) + " registers are expected");
  std::vector<Ref> refs;
  for (const Operand& part : parts) refs.push_back(destination ? d.out(part, t) : d.in(part, t));
  return refs;
}
int widest(const Decoder& d, const Operand& o, const Type& t) {
  const std::vector<Operand> parts = o.what == Operand::What::vector ? o.parts : std::vector<Operand>{o};
  int bits = 0;
  for (const Operand& part : parts) bits = std::max(bits, d.register_bits(part));
  return bits == 0 ? t.bits : bits;
}

void ld(Decoder& d, Instruction& i) {
  const Type t = d.type();
  const int vector = take_vector(d);
  Space space = take_space(d);
  take_hints(d, i);
  d.operands(2, 3);  // a cache policy may follow
  i.a = d.address(d.operand(1), i, space);
  i.mode = static_cast<std::uint8_t>(space);
  if (t.kind == Kind::s) i.flags |= sign_flag;
  i.target = widest(d, d.operand(0), t);
  i.more = d.list(values(d, d.operand(0), t, vector, true));
  i.run = by_bytes(d, t, []<int bytes>() { return load<bytes>; });
}

void st(Decoder& d, Instruction& i) {
  const Type t = d.type();
  const int vector = take_vector(d);
  Space space = take_space(d);
  take_hints(d, i);
  d.operands(2, 3);
  i.a = d.address(d.operand(0), i, space);
  i.mode = static_cast<std::uint8_t>(space);
  i.target = widest(d, d.operand(1), t);
  i.more = d.list(values(d, d.operand(1), t, vector, false));
  i.run = by_bytes(d, t, []<int bytes>() { return store<bytes>; });
}

/// Hints about caches.
void hint(Decoder& d, Instruction& i) {
  d.left.clear();
  i.run = [](Warp&, const Instruction&, Mask) { return Step::next; };
}

}  // namespace

void add_memory(Families& families) {
  families["ld"] = ld;
  families["ldu"] = ld;
  families["st"] = st;
  families["prefetch"] = hint;
  families["prefetchu"] = hint;
  families["discard"] = hint;
  families["applypriority"] = hint;
}

}  // namespace assay::gpu
