#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "conformance/engine/worker/worker.hpp"

namespace assay {

/// Parent side: a shared memory object, mapped as a whole; it only grows.
class SharedMemory {
 public:
  SharedMemory();  ///< of kControlBytes. Throws Error.
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  int fd() const { return fd_; }
  /// Invalidated by allocate().
  std::byte* data() const { return data_; }
  /// A fresh piece of `bytes` (whole pages); returns its offset. Throws Error if the system refuses.
  std::uint64_t allocate(std::size_t bytes);

 private:
  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t used_ = 0, mapped_ = 0;
};

/// Parent side: a spawned worker process, its socket, and what it prints. The destructor ends it and reaps it.
class Process {
 public:
  /// Starts it and waits for its first word. Throws Error if it cannot be started.
  Process(const Program& program, int memory_fd);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  bool send(std::uint32_t sequence);
  enum class Event { answered, died, late };
  /// Waits for the answer with that number, for the death of the process, or for the deadline.
  Event wait(std::uint32_t sequence, double seconds);
  bool died() { return wait(0, 0) == Event::died; }
  /// Ends the process and its children, reaps it; returns its wait status.
  int finish();
  /// What was printed since the last call of it, at most the last 4096 bytes.
  std::string take_log();

 private:
  pid_t pid_ = 0;
  int pidfd_ = -1, socket_ = -1, log_ = -1;
};

/// The folder of the running program.
std::string program_folder();

}  // namespace assay
