#include "conformance/engine/worker/diagnose.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>

#include "conformance/engine/worker/serve.hpp"

namespace assay {
namespace {

const char* verb(Access access) {
  return access == Access::write ? "wrote" : access == Access::read ? "read" : "read or wrote";
}

std::string hex(std::uint64_t v) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(v));
  return text;
}

// A stray access of the memory of a tensor, or of the inaccessible pages around it.
bool in_tensor(const CrashRecord& crash, const Mapped& t, Diagnosis& verdict) {
  const std::uint64_t at = crash.address, end = t.address + t.span;
  if (at < t.extent_first - kGuardBytes || at >= t.extent_end + kGuardBytes) return false;
  const std::string who = describe(t.name, t.output);
  if (t.span == 0) {
    verdict = {Reply::Kind::guard_violation,
               std::string(verb(crash.access)) + " an element of " + who + ", which has none"};
  } else if (at >= end) {
    verdict = {Reply::Kind::guard_violation,
               std::string(verb(crash.access)) + " " + byte_count(at - end + 1) + " beyond the end of " + who};
  } else if (at < t.address) {
    verdict = {Reply::Kind::guard_violation,
               std::string(verb(crash.access)) + " " + byte_count(t.address - at) + " before the start of " + who};
  } else if (crash.access == Access::write && !t.output) {
    verdict = {Reply::Kind::input_written, "wrote " + who + ", at byte " + std::to_string(at - t.address)};
  } else {
    return false;  // SIGBUS and the like
  }
  return true;
}

std::string segv_text(const CrashRecord& crash) {
  if (crash.code == SI_KERNEL && crash.address == 0)
    return "an aligned vector instruction on unaligned data, or a wild pointer (a library that needs aligned tensors "
           "declares `alignment` in its capability file)";
  const auto below = crash.stack_pointer - crash.address, above = crash.address - crash.stack_pointer;
  if (crash.stack_pointer && (below < (1 << 16) || above < (1 << 16))) return "stack overflow";
  return std::string(verb(crash.access)) + " address " + hex(crash.address) +
         (crash.address < 4096 ? " (null pointer)" : ", which belongs to no tensor");
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name ? std::string("SIG") + name : "signal " + std::to_string(number);
}

}  // namespace

std::string describe(const std::string& name, bool output) { return (output ? "output " : "input ") + name; }

std::string byte_count(std::uint64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

std::string printable(std::string text) {
  for (char& c : text)
    if ((c < ' ' || c > '~') && c != '\n' && c != '\t') c = '?';
  return text;
}

Diagnosis diagnose(int wait_status, const CrashRecord& crash, bool crash_is_its_own, std::uint64_t error_address,
                   const std::vector<Mapped>& tensors) {
  if (WIFEXITED(wait_status)) {
    const int status = WEXITSTATUS(wait_status);
    if (status == kChannelLost)
      return {Reply::Kind::crashed, "closed file descriptors that are not its own: the answer could not be sent"};
    return {Reply::Kind::crashed, "ended the process: exited with status " + std::to_string(status)};
  }
  const int number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  const std::string name = signal_name(number);
  if (!crash_is_its_own || crash.signal != number) return {Reply::Kind::crashed, "crashed: " + name};
  if (number == SIGSEGV || number == SIGBUS) {
    Diagnosis verdict{};
    for (const Mapped& t : tensors)
      if (in_tensor(crash, t, verdict)) return verdict;
    const std::uint64_t error_end = error_address + kTextBytes;
    if (crash.address >= error_end && crash.address < error_end + kGuardBytes)
      return {Reply::Kind::guard_violation,
              std::string(verb(crash.access)) + " beyond the end of the error text of the call (error_size bytes)"};
    return {Reply::Kind::crashed, "crashed: " + name + ": " + segv_text(crash)};
  }
  return {Reply::Kind::crashed, "crashed: " + name};
}

}  // namespace assay
