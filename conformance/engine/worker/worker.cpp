#include "conformance/engine/worker/worker.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "conformance/engine/worker/diagnose.hpp"
#include "conformance/engine/worker/dtype.hpp"
#include "conformance/engine/worker/layout.hpp"
#include "conformance/engine/worker/process.hpp"
#include "conformance/engine/worker/protocol.hpp"

namespace assay {
namespace {

// Around a tensor, as far as its accessible memory reaches but no further than this: catches writes that stay on the
// page.
constexpr std::size_t kCanaryBytes = 4096;
constexpr std::uint16_t kCanary = 0xFFA5;  // NaN, if it is read, in fp64, fp32, fp16 and bf16

struct Placed {
  const Buffer* buffer;
  bool output;
  std::size_t span, start;
  Extent extent;
  std::size_t before() const { return std::min(start, kCanaryBytes); }
  std::size_t after() const { return std::min(extent.bytes - std::min(extent.bytes, start + span), kCanaryBytes); }
};

std::string seconds_text(double s) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3g s", s);
  return text;
}

void check_alignment(std::size_t a) {
  if ((a & (a - 1)) != 0 || a > 4096)
    throw Error("alignment of tensors", "a power of two up to 4096, or 0", std::to_string(a));
}

}  // namespace

struct Worker::Impl {
  Program program;
  std::unique_ptr<SharedMemory> memory;
  std::unique_ptr<Process> process;
  std::vector<Extent> pieces[2];  // of the inputs, of the outputs; by place in the call
  std::uint32_t sequence = 0;
  int started = 0;

  Control& control() { return *reinterpret_cast<Control*>(memory->data()); }

  void ensure_process() {
    if (process) return;
    memory = std::make_unique<SharedMemory>();
    pieces[0].clear();
    pieces[1].clear();
    control().protocol = kProtocol;
    process = std::make_unique<Process>(program, memory->fd());
    ++started;
  }

  // The piece of memory for one tensor: that of earlier calls if it is large enough.
  Extent piece(bool output, std::size_t index, std::size_t span) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    auto& known = pieces[output];
    if (known.size() <= index) known.resize(index + 1);
    if (known[index].bytes < std::max<std::size_t>(span, 1)) {
      std::size_t bytes = std::max(page, known[index].bytes);
      while (bytes < span) bytes *= 2;
      known[index] = {memory->allocate(bytes), bytes};
    }
    return known[index];
  }

  std::vector<Placed> place_all(const Request& r) {
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

  std::byte* at(const Placed& p) { return memory->data() + p.extent.file_offset + p.start; }

  void fill(const std::vector<Placed>& all, const Request& r) {
    for (const Placed& p : all) {
      std::byte* first = at(p);
      fill_pattern(first - p.before(), p.before(), kCanary);
      fill_pattern(first + p.span, p.after(), kCanary);
      if (p.output)
        fill_pattern(first, p.span, r.poison);
      else if (p.span)
        std::memcpy(first, p.buffer->bytes.data(), p.span);
    }
  }

  void write_request(const Request& r, Command command, const std::vector<Placed>& all) {
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

  Reply after_death(const std::vector<Placed>& all) {
    const pid_t pid = process->pid();
    const CrashRecord crash = control().crash;
    std::vector<Mapped> mapped;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint64_t address = control().addresses[i];
      const std::uint64_t first = address - all[i].start;
      mapped.push_back({all[i].buffer->name, all[i].output, address, all[i].span, first, first + all[i].extent.bytes});
    }
    const std::uint64_t error_address = control().error_address;
    Reply reply;
    const int status = process->finish();
    const Diagnosis verdict = diagnose(status, crash, crash.pid == pid, error_address, mapped);
    reply.kind = verdict.kind;
    reply.message = verdict.message;
    reply.log = printable(process->take_log());
    process.reset();
    return reply;
  }

  // Sends what the control block holds and waits.
  Reply exchange(const Request& r, const std::vector<Placed>& all) {
    if (++sequence == 0) ++sequence;
    process->send(sequence);
    const Process::Event event = process->wait(sequence, r.deadline_s);
    if (event == Process::Event::died) return after_death(all);
    Reply reply;
    if (event == Process::Event::late) {
      process->finish();
      reply.kind = Reply::Kind::timed_out;
      reply.message = "did not return within " + seconds_text(r.deadline_s);
      reply.log = printable(process->take_log());
      process.reset();
      return reply;
    }
    const Control& c = control();
    const std::string text = printable(std::string(c.text, strnlen(c.text, kTextBytes)));
    reply.seconds = std::isfinite(c.seconds) ? c.seconds : 0;
    reply.log = printable(process->take_log());
    switch (c.outcome) {
      case Outcome::not_loaded:
        reply.kind = Reply::Kind::not_loaded;
        reply.message = text;
        break;
      case Outcome::exception:
        reply.kind = Reply::Kind::error;
        reply.message = "let an exception escape: " + text;
        break;
      case Outcome::returned:
        reply.message = text;
        reply.kind = c.returned == ASSAY_OK            ? Reply::Kind::ok
                     : c.returned == ASSAY_UNSUPPORTED ? Reply::Kind::unsupported
                                                       : Reply::Kind::error;
        if (reply.kind == Reply::Kind::error && c.returned != ASSAY_ERROR)
          reply.message = "returned " + std::to_string(c.returned) + ", which is no status of the ABI" +
                          (text.empty() ? "" : ": " + text);
        else if (reply.kind != Reply::Kind::ok && text.empty())
          reply.message = "gave no reason";
        break;
      default:
        reply.kind = Reply::Kind::error;
        reply.message = "the worker could not map the tensors";
    }
    return reply;
  }

  // What only the parent sees: writes that stayed on accessible pages.
  void inspect(const std::vector<Placed>& all, const Request& r, Reply& reply) {
    for (const Placed& p : all) {
      const std::byte* first = at(p);
      const std::string who = describe(p.buffer->name, p.output);
      const std::size_t early = pattern_ends(first - p.before(), p.before(), kCanary);
      const std::size_t late = pattern_ends(first + p.span, p.after(), kCanary);
      if (early < p.before() || late < p.after()) {
        reply.kind = Reply::Kind::guard_violation;
        reply.message = early < p.before() ? "wrote " + byte_count(p.before() - early) + " before the start of " + who
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

  Reply call(const Request& r, Command command) {
    check_alignment(r.alignment);
    if (r.inputs.size() + r.outputs.size() > kMaxTensors)
      throw Error("tensors of one call", "at most " + std::to_string(kMaxTensors),
                  std::to_string(r.inputs.size() + r.outputs.size()));
    for (const Buffer& b : r.inputs)
      if (b.bytes.size() != span_bytes(b))
        throw Error("bytes of input '" + b.name + "' do not fit its shape " + to_string(b.shape),
                    std::to_string(span_bytes(b)), std::to_string(b.bytes.size()));
    for (const Buffer& b : r.outputs) element_bytes(b, false);
    if (process && process->died()) {
      Reply reply = after_death({});
      reply.message = "died after its previous call had returned: " + reply.message;
      return reply;
    }
    ensure_process();
    const std::vector<Placed> all = place_all(r);
    fill(all, r);
    write_request(r, command, all);
    Reply reply = exchange(r, all);
    if (reply.kind != Reply::Kind::ok || command != Command::run) return reply;
    inspect(all, r, reply);
    for (const Placed& p : all) {
      if (!p.output) continue;
      Buffer b = *p.buffer;
      b.bytes.assign(at(p), at(p) + p.span);
      reply.outputs.push_back(std::move(b));
    }
    return reply;
  }
};

Worker::Worker(Program program) : impl_(std::make_unique<Impl>()) { impl_->program = std::move(program); }
Worker::~Worker() = default;
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;

Reply Worker::call(const Request& request) { return impl_->call(request, Command::run); }

Reply Worker::load(const std::string& target, PluginInfo* info, double deadline_s) {
  Request r;
  r.target = target;
  r.deadline_s = deadline_s;
  Reply reply = impl_->call(r, Command::load);
  if (reply.kind == Reply::Kind::ok) {
    if (info) *info = {reply.message, impl_->control().has_offers != 0};
    reply.message.clear();
  }
  return reply;
}

Reply Worker::offers(const std::string& target, const std::string& op, const std::string& contract, double deadline_s) {
  Request r;
  r.target = target;
  r.op = op;
  r.contract = contract;
  r.deadline_s = deadline_s;
  return impl_->call(r, Command::offers);
}

int Worker::pid() const { return impl_->process ? impl_->process->pid() : 0; }
int Worker::processes_started() const { return impl_->started; }

const char* to_string(Reply::Kind kind) {
  switch (kind) {
    case Reply::Kind::ok:
      return "ok";
    case Reply::Kind::unsupported:
      return "not supported";
    case Reply::Kind::error:
      return "error";
    case Reply::Kind::not_loaded:
      return "not loaded";
    case Reply::Kind::crashed:
      return "crashed";
    case Reply::Kind::timed_out:
      return "timed out";
    case Reply::Kind::guard_violation:
      return "stray access";
    case Reply::Kind::input_written:
      return "input written";
    case Reply::Kind::output_gap_written:
      return "gap written";
  }
  return "?";
}

std::vector<Index> untouched(const Buffer& output, std::uint16_t poison) {
  std::vector<Index> found;
  const int bits = abi_dtype(output.dtype).bits;
  const Index n = count(output.shape);
  const std::byte bytes[2] = {static_cast<std::byte>(poison & 0xFF), static_cast<std::byte>(poison >> 8)};
  for (Index flat = 0; flat < n; ++flat) {
    Index offset = 0, rest = flat;
    for (std::size_t d = output.shape.size(); d-- > 0;) {
      offset += output.shape[d] == 1 ? 0 : rest % output.shape[d] * output.strides[d];
      rest /= output.shape[d];
    }
    // Of a packed type: the bytes that hold a part of the element.
    const auto first = static_cast<std::size_t>(offset * bits / 8);
    const auto end = static_cast<std::size_t>((offset * bits + bits + 7) / 8);
    bool same = true;
    for (std::size_t i = first; i < end && same; ++i) same = output.bytes[i] == bytes[i & 1];
    if (same) found.push_back(flat);
  }
  return found;
}

}  // namespace assay
