#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "conformance/engine/worker/process.hpp"
#include "conformance/engine/worker/protocol.hpp"

namespace assay {
namespace {

[[noreturn]] void refuse(const char* what) {
  throw Error(std::string("shared memory for a worker: ") + what + ": " + std::strerror(errno));
}

}  // namespace

SharedMemory::SharedMemory() {
  fd_ = memfd_create("assay", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd_ < 0) refuse("memfd_create");
  // Foreign code may find the descriptor; cutting the object short would take the parent down with SIGBUS.
  fcntl(fd_, F_ADD_SEALS, F_SEAL_SHRINK);
  allocate(kControlBytes);
}

SharedMemory::~SharedMemory() {
  if (data_) munmap(data_, mapped_);
  if (fd_ >= 0) close(fd_);
}

std::uint64_t SharedMemory::allocate(std::size_t bytes) {
  const std::uint64_t offset = used_;
  if (used_ + bytes > mapped_) {
    std::size_t size = mapped_ == 0 ? kControlBytes + (1 << 20) : mapped_;
    while (size < used_ + bytes) size *= 2;
    if (ftruncate(fd_, static_cast<off_t>(size)) != 0) refuse("ftruncate");
    void* p = data_ ? mremap(data_, mapped_, size, MREMAP_MAYMOVE)
                    : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (p == MAP_FAILED) refuse("mmap");
    data_ = static_cast<std::byte*>(p);
    mapped_ = size;
  }
  used_ += bytes;
  return offset;
}

}  // namespace assay
