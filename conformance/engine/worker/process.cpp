#include "conformance/engine/worker/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "conformance/engine/worker/protocol.hpp"

namespace assay {
namespace {

[[noreturn]] void refuse(const std::string& what, int error) {
  throw Error("worker process: " + what + ": " + std::strerror(error));
}

// Above the numbers the child gives to what it inherits, so that no dup2 overwrites what a later one needs.
int high(int fd, const char* what) {
  if (fd < 0) refuse(what, errno);
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 16);
  const int error = errno;
  close(fd);
  if (moved < 0) refuse(what, error);
  return moved;
}

struct SpawnSetup {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  SpawnSetup(int socket, int memory, int log) {
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, log, 1);
    posix_spawn_file_actions_adddup2(&files, log, 2);
    posix_spawn_file_actions_adddup2(&files, socket, kSocketFd);
    posix_spawn_file_actions_adddup2(&files, memory, kMemoryFd);
    posix_spawn_file_actions_addclosefrom_np(&files, 5);
    posix_spawnattr_init(&attributes);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSetup() {
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
};

// That of this program. OpenMP threads that spin between calls would take the processor from whoever judges.
std::vector<char*> environment() {
  static char passive[] = "OMP_WAIT_POLICY=passive";
  std::vector<char*> list;
  for (char** e = environ; *e; ++e) list.push_back(*e);
  if (!std::getenv("OMP_WAIT_POLICY")) list.push_back(passive);
  list.push_back(nullptr);
  return list;
}

void limit(pid_t pid, const Program& program) {
  const rlimit printed{64 << 20, 64 << 20};
  // Of cores the soft limit alone: a sanitizer in the process sets it as well when it starts, with the hard limit that
  // it found, and must not find that raised.
  rlimit core{};
  if (prlimit(pid, RLIMIT_CORE, nullptr, &core) == 0) {
    core.rlim_cur = 0;
    prlimit(pid, RLIMIT_CORE, &core, nullptr);
  }
  prlimit(pid, RLIMIT_FSIZE, &printed, nullptr);
  const rlimit memory{program.memory_limit, program.memory_limit};
  if (program.memory_limit) prlimit(pid, RLIMIT_AS, &memory, nullptr);
}

}  // namespace

std::string program_folder() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
  if (n <= 0) refuse("folder of this program", errno);
  const std::string whole(path, static_cast<std::size_t>(n));
  return whole.substr(0, whole.rfind('/'));
}

Process::Process(const Program& program, int memory_fd) {
  const std::string path = program.executable.empty() ? program_folder() + "/assay_worker" : program.executable;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) refuse("socketpair", errno);
  socket_ = pair[0];
  const int theirs = high(pair[1], "socket");
  log_ = high(memfd_create("assay output", MFD_CLOEXEC), "memfd_create");
  fcntl(log_, F_SETFL, O_APPEND);
  const int memory = high(dup(memory_fd), "dup");
  const SpawnSetup setup(theirs, memory, log_);
  char* arguments[] = {const_cast<char*>(path.c_str()), nullptr};
  const int error = posix_spawn(&pid_, path.c_str(), &setup.files, &setup.attributes, arguments, environment().data());
  close(theirs);
  close(memory);
  if (error != 0) {
    pid_ = 0;
    close(socket_);
    close(log_);
    throw Error("worker process cannot be started", "an executable assay_worker",
                "'" + path + "': " + std::strerror(error));
  }
  // Tells of a death even if a child of the worker holds the socket open; kernels before 5.3 and some sandboxes have
  // none. By its number: glibc 2.36 declares pidfd_open for C only.
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  limit(pid_, program);
  if (wait(0, program.start_deadline_s) != Event::answered) {
    const std::string log = take_log();
    finish();
    close(socket_);
    close(log_);
    throw Error("worker process did not start", "a worker that answers",
                "'" + path + "'" + (log.empty() ? "" : ", which said: " + log));
  }
}

Process::~Process() {
  shutdown(socket_, SHUT_RDWR);  // an idle worker ends by itself
  if (pid_ > 0) {
    pollfd end{pidfd_ >= 0 ? pidfd_ : socket_, static_cast<short>(pidfd_ >= 0 ? POLLIN : 0), 0};
    poll(&end, 1, 200);
    finish();
  }
  close(socket_);
  close(log_);
}

bool Process::send(std::uint32_t sequence) {
  const Signal message{kProtocol, sequence};
  return ::send(socket_, &message, sizeof(message), MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(message));
}

Process::Event Process::wait(std::uint32_t sequence, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  pollfd fds[2] = {{socket_, POLLIN, 0}, {pidfd_, POLLIN, 0}};
  for (;;) {
    const auto left =
        std::max<long long>(0, std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count());
    const timespec timeout{static_cast<time_t>(left / 1000000000), static_cast<long>(left % 1000000000)};
    const int ready = ppoll(fds, 2, &timeout, nullptr);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) refuse("ppoll", errno);
    if (ready == 0) return Event::late;
    if (fds[0].revents & POLLIN) {
      Signal message{};
      if (recv(socket_, &message, sizeof(message), MSG_DONTWAIT) == static_cast<ssize_t>(sizeof(message)) &&
          message.protocol == kProtocol && message.sequence == sequence)
        return Event::answered;
    }
    if (fds[1].revents) return Event::died;
    if ((fds[0].revents & (POLLHUP | POLLERR)) == 0) continue;
    if (pidfd_ < 0) return Event::died;
    fds[0].fd = -1;  // hung up: its death will follow, or the deadline
  }
}

int Process::finish() {
  if (pid_ <= 0) return 0;
  kill(-pid_, SIGKILL);  // the group: children that the foreign code left behind, too
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  if (pidfd_ >= 0) close(pidfd_);
  pidfd_ = -1;
  pid_ = 0;
  return status;
}

std::string Process::take_log() {
  struct stat info {};
  if (fstat(log_, &info) != 0 || info.st_size == 0) return "";
  const off_t keep = std::min<off_t>(info.st_size, 4096);
  std::string text(static_cast<std::size_t>(keep), '\0');
  const ssize_t n = pread(log_, text.data(), text.size(), info.st_size - keep);
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  if (ftruncate(log_, 0) != 0) text += " (log cannot be cleared)";
  return text;
}

}  // namespace assay
