#include "conformance/engine/worker/serve.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <vector>

#include "conformance/engine/worker/arena.hpp"
#include "conformance/engine/worker/builtin.hpp"
#include "conformance/engine/worker/crash.hpp"
#include "conformance/engine/worker/library.hpp"
#include "conformance/engine/worker/protocol.hpp"

namespace assay {
namespace {

struct Session {
  Control* control;
  Arena arena;
  char* error;  // kTextBytes that end at an inaccessible page
  pid_t self;
};

// The call as the foreign code sees it, with everything it points to. Deques: no element moves when one is added.
struct Call {
  std::string target, op, contract;
  std::deque<std::string> strings;
  std::deque<std::vector<std::int64_t>> sizes;
  std::vector<assay_named_tensor> inputs, outputs;
  std::vector<assay_option> options;
};

std::string path_of(const std::string& target) {
  const std::string prefix = "plugin:";
  return target.compare(0, prefix.size(), prefix) == 0 ? target.substr(prefix.size()) : "";
}

// The shared memory could not be mapped: no fault of the foreign code.
struct MappingFailed : std::exception {};

const char* keep(Call& call, std::string text) {
  call.strings.push_back(std::move(text));
  return call.strings.back().c_str();
}

void read_tensors(Session& s, RequestReader& from, Call& call, bool writable, std::size_t& index) {
  auto& to = writable ? call.outputs : call.inputs;
  for (std::uint64_t n = from.number(); n > 0; --n) {
    assay_named_tensor t{};
    t.name = keep(call, from.text());
    t.tensor.device = {ASSAY_CPU, 0};
    t.tensor.dtype.code = static_cast<std::uint8_t>(from.number());
    t.tensor.dtype.bits = static_cast<std::uint8_t>(from.number());
    t.tensor.dtype.lanes = 1;
    t.tensor.ndim = static_cast<std::int32_t>(from.number());
    for (std::int64_t** field : {&t.tensor.shape, &t.tensor.strides}) {
      std::vector<std::int64_t> numbers(static_cast<std::size_t>(t.tensor.ndim));
      for (std::int64_t& v : numbers) v = static_cast<std::int64_t>(from.number());
      call.sizes.push_back(std::move(numbers));
      *field = call.sizes.back().data();
    }
    const std::uint64_t file_offset = from.number(), extent = from.number(), start = from.number();
    std::byte* base = s.arena.map(file_offset, extent, writable);
    if (!base) throw MappingFailed();
    t.tensor.data = base + start;
    s.control->addresses[index++ % kMaxTensors] = reinterpret_cast<std::uint64_t>(t.tensor.data);
    to.push_back(t);
  }
}

Call read_call(Session& s) {
  RequestReader from(*s.control);
  Call call;
  call.target = from.text();
  call.op = from.text();
  call.contract = from.text();
  for (std::uint64_t n = from.number(); n > 0; --n) {
    assay_option option{};
    option.name = keep(call, from.text());
    option.value = keep(call, from.text());
    option.number = from.real();
    call.options.push_back(option);
  }
  std::size_t index = 0;
  read_tensors(s, from, call, false, index);
  read_tensors(s, from, call, true, index);
  return call;
}

int run(Session& s, const Call& call) {
  assay_call c{};
  c.abi_version = ASSAY_ABI_VERSION;
  c.op = call.op.c_str();
  c.contract = call.contract.c_str();
  c.inputs = call.inputs.data();
  c.n_inputs = call.inputs.size();
  c.outputs = call.outputs.data();
  c.n_outputs = call.outputs.size();
  c.options = call.options.data();
  c.n_options = call.options.size();
  c.error = s.error;
  c.error_size = kTextBytes;
  const std::string path = path_of(call.target);
  const auto* plugin = path.empty() ? nullptr : &library(path);
  const auto started = std::chrono::steady_clock::now();
  const int returned = plugin ? plugin->run(&c) : run_builtin(call.target, &c);
  if (getpid() != s.self) _exit(0);  // a child that the foreign code forked has come back through its call
  s.control->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return returned;
}

int serve_command(Session& s) {
  const Call call = read_call(s);
  if (s.control->command == Command::run) return run(s, call);
  const std::string path = path_of(call.target);
  if (path.empty()) throw Error("target that can be loaded", "plugin:FILE.so", "'" + call.target + "'");
  const Library& plugin = library(path);
  s.control->has_offers = plugin.offers != nullptr;
  if (s.control->command == Command::load) {
    std::snprintf(s.error, kTextBytes, "%s", plugin.version.c_str());
    return ASSAY_OK;
  }
  return plugin.offers ? plugin.offers(call.op.c_str(), call.contract.c_str(), s.error, kTextBytes) : ASSAY_OK;
}

void answer(Session& s) {
  Control& c = *s.control;
  s.error[0] = '\0';
  c.seconds = 0;
  alarm(c.alarm_s);
  try {
    // Loading comes first, so that what it throws is told from what the call throws.
    const std::string path = path_of(RequestReader(c).text());
    if (!path.empty()) library(path);
  } catch (const std::exception& e) {
    std::snprintf(c.text, kTextBytes, "%s", e.what());
    c.outcome = Outcome::not_loaded;
    return;
  }
  try {
    c.returned = serve_command(s);
    c.outcome = Outcome::returned;
    std::memcpy(c.text, s.error, kTextBytes);
  } catch (const MappingFailed&) {
    c.outcome = Outcome::no_memory;
  } catch (const std::exception& e) {
    std::snprintf(c.text, kTextBytes, "%s", e.what());
    c.outcome = Outcome::exception;
  } catch (...) {
    std::snprintf(c.text, kTextBytes, "something that is not a std::exception");
    c.outcome = Outcome::exception;
  }
  c.text[kTextBytes - 1] = '\0';
}

// Out of the way of code that closes descriptors it believes to be its own, and not inherited by what it executes.
int move_up(int fd) {
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 500);
  if (moved < 0) return fd;
  close(fd);
  return moved;
}

bool tell(int socket, std::uint32_t sequence) {
  const Signal message{kProtocol, sequence};
  return send(socket, &message, sizeof(message), MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(message));
}

}  // namespace

int serve_worker() {
  int type = 0;
  socklen_t length = sizeof(type);
  if (getsockopt(kSocketFd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_SEQPACKET)
    return kNotStartedByAssay;
  const int socket = move_up(kSocketFd), memory = move_up(kMemoryFd);
  void* shared = mmap(nullptr, kControlBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  if (shared == MAP_FAILED) return kNotStartedByAssay;
  Session session{static_cast<Control*>(shared), Arena(memory), reinterpret_cast<char*>(guarded_private(kTextBytes)),
                  getpid()};
  if (!session.error) return kNotStartedByAssay;
  session.control->error_address = reinterpret_cast<std::uint64_t>(session.error);
  record_crashes(session.control);
  signal(SIGXFSZ, SIG_IGN);                     // a call that prints without end gets EFBIG
  std::setvbuf(stdout, nullptr, _IOLBF, 4096);  // what a crashing call printed is not lost

  if (!tell(socket, 0)) return kChannelLost;
  for (;;) {
    Signal message{};
    const ssize_t got = recv(socket, &message, sizeof(message), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) return 0;  // the parent hung up
    if (got != static_cast<ssize_t>(sizeof(message))) return kChannelLost;
    answer(session);
    if (getpid() != session.self) _exit(0);  // the same, by way of an exception
    std::fflush(stdout);
    alarm(0);
    if (!tell(socket, message.sequence)) return kChannelLost;
  }
}

}  // namespace assay
