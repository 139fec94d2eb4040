#include "conformance/engine/worker/crash.hpp"

#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

namespace assay {
namespace {

Control* control_block = nullptr;
alignas(64) char signal_stack[64 * 1024];

// Async-signal-safe: stores, getpid, sigaction by default action, raise.
void on_signal(int number, siginfo_t* info, void* context) {
  CrashRecord& crash = control_block->crash;
  crash.pid = getpid();
  crash.code = info->si_code;
  crash.address = reinterpret_cast<std::uint64_t>(info->si_addr);
  crash.access = Access::unknown;
  crash.stack_pointer = 0;
#if defined(__x86_64__)
  const auto* machine = &static_cast<ucontext_t*>(context)->uc_mcontext;
  constexpr long long kPageFault = 14;
  if (machine->gregs[REG_TRAPNO] == kPageFault)
    crash.access = (machine->gregs[REG_ERR] & 2) != 0 ? Access::write : Access::read;
  crash.stack_pointer = static_cast<std::uint64_t>(machine->gregs[REG_RSP]);
#elif defined(__aarch64__)
  crash.stack_pointer = static_cast<ucontext_t*>(context)->uc_mcontext.sp;
#else
  (void)context;
#endif
  crash.signal = number;
  // SA_RESETHAND has restored the default action: the signal, raised again, ends the process on return.
  raise(number);
}

}  // namespace

void record_crashes(Control* control) {
  control_block = control;
  stack_t stack{};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof(signal_stack);
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) sigaction(number, &action, nullptr);
}

}  // namespace assay
