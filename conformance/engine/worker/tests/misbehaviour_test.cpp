#include <dirent.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <fstream>

#include "conformance/engine/worker/tests/request.hpp"

// Each way foreign code goes wrong has its own Reply, and the next call works.
namespace assay::test {
namespace {

using Kind = Reply::Kind;

struct Wrong {
  const char* op;
  Guard guard;
  Kind kind;
  const char* message;  // the beginning of it
  bool dies;
};

void PrintTo(const Wrong& w, std::ostream* os) { *os << w.op; }

class Misbehaviour : public testing::TestWithParam<Wrong> {};

TEST_P(Misbehaviour, IsAReplyAndTheNextCallWorks) {
  const Wrong& wrong = GetParam();
  Worker worker(program());
  Request r = request(wrong.op, wrong.guard);
  r.deadline_s = 0.5;
  if (std::string(wrong.op) == "write_gap") r.outputs = {buffer("y", {2, 3}, {}, {5, 1})};
  const Reply reply = worker.call(r);
  EXPECT_STREQ(to_string(reply.kind), to_string(wrong.kind)) << reply.message;
  EXPECT_EQ(reply.message.substr(0, std::string(wrong.message).size()), wrong.message);
  EXPECT_EQ(worker.pid() == 0, wrong.dies);

  const Reply next = worker.call(request("copy"));
  ASSERT_STREQ(to_string(next.kind), "ok") << next.message;
  EXPECT_EQ(floats(next.outputs.at(0)), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(worker.processes_started(), wrong.dies ? 2 : 1);
}

INSTANTIATE_TEST_SUITE_P(
    All, Misbehaviour,
    testing::Values(
        Wrong{"unsupported", Guard::after, Kind::unsupported, "no in=fp32 acc=fp32 out=fp32 here", false},
        Wrong{"error", Guard::after, Kind::error, "x is bad??", false},
        Wrong{"silent_error", Guard::after, Kind::error, "gave no reason", false},
        Wrong{"status_42", Guard::after, Kind::error, "returned 42, which is no status of the ABI", false},
        Wrong{"unterminated_error", Guard::after, Kind::error, "????", false},
        Wrong{"error_overflow", Guard::after, Kind::guard_violation, "wrote beyond the end of the error text", true},
        Wrong{"scribbles_on_call", Guard::after, Kind::ok, "", false},
        Wrong{"segfault", Guard::after, Kind::crashed, "crashed: SIGSEGV: wrote address 0x10 (null pointer)", true},
        Wrong{"wild", Guard::after, Kind::crashed, "crashed: SIGSEGV: an aligned vector instruction", true},
        Wrong{"abort", Guard::after, Kind::crashed, "crashed: SIGABRT", true},
        Wrong{"exit", Guard::after, Kind::crashed, "ended the process: exited with status 3", true},
        Wrong{"exit_0", Guard::after, Kind::crashed, "ended the process: exited with status 0", true},
        Wrong{"kill", Guard::after, Kind::crashed, "crashed: SIGKILL", true},
        Wrong{"hang", Guard::after, Kind::timed_out, "did not return within 0.5 s", true},
        Wrong{"hang_forked", Guard::after, Kind::timed_out, "did not return within 0.5 s", true},
        Wrong{"fpe", Guard::after, Kind::crashed, "crashed: SIGFPE", true},
        Wrong{"stack_overflow", Guard::after, Kind::crashed, "crashed: SIGSEGV: stack overflow", true},
        Wrong{"throw", Guard::after, Kind::error, "let an exception escape: bad mood", false},
        Wrong{"read_after", Guard::after, Kind::guard_violation, "read 1 byte beyond the end of input x", true},
        Wrong{"read_before", Guard::before, Kind::guard_violation, "read 4 bytes before the start of input x", true},
        Wrong{"write_after", Guard::after, Kind::guard_violation, "wrote 1 byte beyond the end of output y", true},
        Wrong{"write_before", Guard::before, Kind::guard_violation, "wrote 4 bytes before the start of output y", true},
        // On the accessible side of the tensor the canary tells.
        Wrong{"write_after", Guard::before, Kind::guard_violation, "wrote 1 byte beyond the end of output y", false},
        Wrong{"write_before", Guard::after, Kind::guard_violation, "wrote 4 bytes before the start of output y", false},
        Wrong{"write_input", Guard::after, Kind::input_written, "wrote input x, at byte 4", true},
        Wrong{"write_input_by_force", Guard::before, Kind::input_written, "wrote input x", false},
        Wrong{"write_gap", Guard::after, Kind::output_gap_written, "wrote between the elements of output y, at byte 12",
              false},
        Wrong{"close_3", Guard::after, Kind::ok, "", false},
        Wrong{"close_all", Guard::after, Kind::crashed, "closed file descriptors that are not its own", true},
        Wrong{"truncate_memory", Guard::after, Kind::ok, "", false},
        Wrong{"fork_returns", Guard::after, Kind::ok, "", false}, Wrong{"prints", Guard::after, Kind::ok, "", false},
        Wrong{"prints_a_lot", Guard::after, Kind::ok, "", false}));

TEST(Worker, PrintedTextIsCapturedNotShown) {
  Worker worker(program());
  testing::internal::CaptureStdout();
  const Reply reply = worker.call(request("prints"));
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_NE(reply.log.find("hello from stdout"), std::string::npos);
  EXPECT_NE(reply.log.find("hello from stderr"), std::string::npos);
  EXPECT_EQ(worker.call(request("copy")).log, "");
}

TEST(Worker, WhatADyingProcessSaidIsKept) {
  Worker worker(program());
  EXPECT_EQ(worker.call(request("assert")).log, "Assertion `n % 8 == 0' failed.\n");
}

TEST(Worker, DeathAfterReturnIsReportedNotLost) {
  Worker worker(program());
  ASSERT_STREQ(to_string(worker.call(request("crash_later")).kind), "ok");
  usleep(300000);
  const Reply reply = worker.call(request("copy"));
  EXPECT_STREQ(to_string(reply.kind), "crashed");
  EXPECT_EQ(reply.message, "died after its previous call had returned: crashed: SIGABRT");
  EXPECT_STREQ(to_string(worker.call(request("copy")).kind), "ok");
}

TEST(Worker, MemoryCanBeLimited) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer needs the address space";
#endif
  Program limited = program();
  limited.memory_limit = std::uint64_t{1} << 30;
  Worker worker(limited);
  const Reply reply = worker.call(request("allocate"));
  EXPECT_STREQ(to_string(reply.kind), "error");
  EXPECT_EQ(reply.message, "let an exception escape: std::bad_alloc");
  EXPECT_STREQ(to_string(worker.call(request("copy")).kind), "ok");
}

// Where pidfd_open does not exist the hang-up of the socket tells of a death.
int without_pidfd() {
  sock_filter program_of_filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {4, program_of_filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    return 77;
  if (syscall(SYS_pidfd_open, getpid(), 0) >= 0) return 1;
  Worker worker(program());
  if (worker.call(request("abort")).message != "crashed: SIGABRT") return 2;
  Request hang = request("hang");
  hang.deadline_s = 0.1;
  if (worker.call(hang).kind != Kind::timed_out) return 3;
  return worker.call(request("copy")).kind == Kind::ok ? 0 : 4;
}

TEST(Worker, DoesWithoutPidfd) {
  const pid_t child = fork();
  if (child == 0) _exit(without_pidfd());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no seccomp filters here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Children of this process, zombies too.
int children() {
  int n = 0;
  DIR* proc = opendir("/proc");
  for (const dirent* e = readdir(proc); e; e = readdir(proc)) {
    std::ifstream stat("/proc/" + std::string(e->d_name) + "/stat");
    std::string pid, name, state;
    int parent = 0;
    if (stat >> pid >> name >> state >> parent && parent == getpid()) ++n;
  }
  closedir(proc);
  return n;
}

TEST(Worker, LeavesNoZombieAndNoProcess) {
  ASSERT_EQ(children(), 0);
  {
    Worker worker(program());
    Request hang = request("hang_forked");
    hang.deadline_s = 0.1;
    for (const char* op : {"abort", "exit", "segfault", "copy"}) worker.call(request(op));
    worker.call(hang);
    EXPECT_EQ(children(), 0);
    worker.call(request("copy"));
    EXPECT_EQ(children(), 1);
  }
  EXPECT_EQ(children(), 0);
}

TEST(Worker, OfAParentThatIsGoneEndsItself) {
  int report[2];
  ASSERT_EQ(pipe(report), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    Worker worker(program());
    worker.call(request("copy"));
    const int pid = worker.pid();
    if (write(report[1], &pid, sizeof(pid)) < 0) _exit(1);
    _exit(0);  // no destructor runs
  }
  int pid = 0;
  ASSERT_EQ(read(report[0], &pid, sizeof(pid)), static_cast<ssize_t>(sizeof(pid)));
  close(report[0]);
  close(report[1]);
  int status = 0;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  bool gone = false;
  for (int i = 0; i < 100 && !gone; ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    gone = !(stat >> number >> name >> state) || state == "Z";
    usleep(20000);
  }
  EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace assay::test
