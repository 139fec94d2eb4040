#include "conformance/engine/worker/worker.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "conformance/engine/worker/call_memory.hpp"
#include "conformance/engine/worker/dtype.hpp"

namespace assay {
namespace {

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
  std::unique_ptr<CallMemory> memory;  // of this process: a fresh one for each
  std::unique_ptr<Process> process;
  std::uint32_t sequence = 0;
  int started = 0;

  Control& control() { return memory->control(); }

  void ensure_process() {
    if (process) return;
    memory = std::make_unique<CallMemory>();
    control().protocol = kProtocol;
    process = std::make_unique<Process>(program, memory->fd());
    ++started;
  }

  Reply after_death(const std::vector<Placed>& all) {
    const pid_t pid = process->pid();
    const CrashRecord crash = control().crash;
    const std::vector<Mapped> mapped = memory->mapped(all);
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

  Reply call(const Request& r, Command command) {
    check_alignment(r.alignment);
    if (r.inputs.size() + r.outputs.size() > kMaxTensors)
      throw Error("tensors of one call", "at most " + std::to_string(kMaxTensors),
                  std::to_string(r.inputs.size() + r.outputs.size()));
    for (const TensorBytes& b : r.inputs)
      if (b.bytes.size() != span_bytes(b))
        throw Error("bytes of input '" + b.name + "' do not fit its shape " + to_string(b.shape),
                    std::to_string(span_bytes(b)), std::to_string(b.bytes.size()));
    for (const TensorBytes& b : r.outputs) element_bytes(b, false);
    if (process && process->died()) {
      Reply reply = after_death({});
      reply.message = "died after its previous call had returned: " + reply.message;
      return reply;
    }
    ensure_process();
    const std::vector<Placed> all = memory->place_all(r);
    memory->fill(all, r);
    memory->write_request(r, command, all);
    Reply reply = exchange(r, all);
    if (reply.kind != Reply::Kind::ok || command != Command::run) return reply;
    reply.note = std::exchange(reply.message, {});
    memory->inspect(all, r, reply);
    reply.outputs = memory->outputs(all);
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

std::vector<Index> untouched(const TensorBytes& output, std::uint16_t poison) {
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
