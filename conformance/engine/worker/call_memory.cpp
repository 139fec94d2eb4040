#include "conformance/engine/worker/call_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "conformance/engine/worker/dtype.hpp"

namespace assay {
namespace {

// Around a tensor, as far as its accessible memory reaches but no further than this: catches writes that stay on the
// page.
constexpr std::size_t kCanaryBytes = 4096;
constexpr std::uint16_t kCanary = 0xFFA5;  // NaN, if it is read, in fp64, fp32, fp16 and bf16

std::size_t before(const Placed& p) { return std::min(p.start, kCanaryBytes); }
std::size_t after(const Placed& p) {
  return std::min(p.extent.bytes - std::min(p.extent.bytes, p.start + p.span), kCanaryBytes);
}

}  // namespace

// That of earlier calls if it is large enough.
Extent CallMemory::piece(bool output, std::size_t index, std::size_t span) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto& known = pieces_[output];
  if (known.size() <= index) known.resize(index + 1);
  if (known[index].bytes < std::max<std::size_t>(span, 1)) {
    std::size_t bytes = std::max(page, known[index].bytes);
    while (bytes < span) bytes *= 2;
    known[index] = {memory_.allocate(bytes), bytes};
  }
  return known[index];
}

std::vector<Placed> CallMemory::place_all(const Request& r) {
  std::vector<Placed> all;
  for (const bool output : {false, true}) {
    const auto& buffers = output ? r.outputs : r.inputs;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      Placed p{&buffers[i], output, span_bytes(buffers[i]), 0, {}};
      p.extent = piece(output, i, p.span);
      p.start = place(p.span, p.extent.bytes, r.alignment, r.guard);
      all.push_back(p);
    }
  }
  return all;
}

void CallMemory::fill(const std::vector<Placed>& all, const Request& r) {
  for (const Placed& p : all) {
    std::byte* first = at(p);
    fill_pattern(first - before(p), before(p), kCanary);
    fill_pattern(first + p.span, after(p), kCanary);
    if (p.output)
      fill_pattern(first, p.span, r.poison);
    else if (p.span)
      std::memcpy(first, p.buffer->bytes.data(), p.span);
  }
}

void CallMemory::write_request(const Request& r, Command command, const std::vector<Placed>& all) {
  Control& c = control();
  c.command = command;
  c.outcome = Outcome::bad_request;
  c.crash = {};
  c.alarm_s = static_cast<std::uint32_t>(std::min(r.deadline_s, 1e6)) + 10;
  RequestWriter to(c);
  to.text(r.target);
  to.text(r.op);
  to.text(r.contract);
  to.number(r.options.size());
  for (const RequestOption& o : r.options) {
    to.text(o.name);
    to.text(o.value);
    to.real(o.number);
  }
  for (const bool output : {false, true}) {
    to.number(output ? r.outputs.size() : r.inputs.size());
    for (const Placed& p : all) {
      if (p.output != output) continue;
      const assay_dtype dtype = abi_dtype(p.buffer->dtype);
      to.text(p.buffer->name);
      to.number(dtype.code);
      to.number(dtype.bits);
      to.number(p.buffer->shape.size());
      for (Index v : p.buffer->shape) to.number(static_cast<std::uint64_t>(v));
      for (Index v : p.buffer->strides) to.number(static_cast<std::uint64_t>(v));
      to.number(p.extent.file_offset);
      to.number(p.extent.bytes);
      to.number(p.start);
    }
  }
  c.request_bytes = to.size();
}

void CallMemory::inspect(const std::vector<Placed>& all, const Request& r, Reply& reply) {
  for (const Placed& p : all) {
    const std::byte* first = at(p);
    const std::string who = describe(p.buffer->name, p.output);
    const std::size_t early = pattern_ends(first - before(p), before(p), kCanary);
    const std::size_t late = pattern_ends(first + p.span, after(p), kCanary);
    if (early < before(p) || late < after(p)) {
      reply.kind = Reply::Kind::guard_violation;
      reply.message = early < before(p) ? "wrote " + byte_count(before(p) - early) + " before the start of " + who
                                        : "wrote " + byte_count(late + 1) + " beyond the end of " + who;
      return;
    }
    if (!p.output) {
      if (p.span && std::memcmp(first, p.buffer->bytes.data(), p.span) != 0) {
        reply.kind = Reply::Kind::input_written;
        reply.message = "wrote " + who;
      }
      continue;
    }
    const std::vector<bool> mine = element_bytes(*p.buffer, false);
    const std::byte poison[2] = {static_cast<std::byte>(r.poison & 0xFF), static_cast<std::byte>(r.poison >> 8)};
    for (std::size_t i = 0; i < mine.size() && reply.kind == Reply::Kind::ok; ++i)
      if (!mine[i] && first[i] != poison[i & 1]) {
        reply.kind = Reply::Kind::output_gap_written;
        reply.message = "wrote between the elements of " + who + ", at byte " + std::to_string(i);
      }
  }
}

std::vector<TensorBytes> CallMemory::outputs(const std::vector<Placed>& all) {
  std::vector<TensorBytes> list;
  for (const Placed& p : all) {
    if (!p.output) continue;
    list.push_back(*p.buffer);
    list.back().bytes.assign(at(p), at(p) + p.span);
  }
  return list;
}

std::vector<Mapped> CallMemory::mapped(const std::vector<Placed>& all) {
  std::vector<Mapped> list;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::uint64_t address = control().addresses[i], first = address - all[i].start;
    list.push_back({all[i].buffer->name, all[i].output, address, all[i].span, first, first + all[i].extent.bytes});
  }
  return list;
}

}  // namespace assay
