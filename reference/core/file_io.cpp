#include "reference/core/file_io.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "reference/core/error.hpp"

namespace assay {
namespace {

std::string reason() { return std::strerror(errno); }

/// A file descriptor that closes itself.
struct Descriptor {
  int fd = -1;
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

const char* kind(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

void write_all(int fd, std::span<const std::byte> bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error("cannot write file " + name, "room and permission to write", reason());
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace

void for_each_piece(const std::filesystem::path& path, const std::function<void(std::span<const std::byte>)>& piece) {
  const std::string name = printable(path.string());
  // Not blocking: opening a pipe must not hang. Not following: what is judged is the file that was named.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.fd < 0 && errno == ELOOP) throw Error("cannot read " + name, "a regular file", "a symbolic link");
  if (file.fd < 0) throw Error("cannot read " + name, "a readable file", reason());
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) throw Error("cannot read " + name, "a readable file", reason());
  if (!S_ISREG(info.st_mode)) throw Error("cannot read " + name, "a regular file", kind(info.st_mode));

  Bytes buffer(std::size_t{1} << 20);
  std::uint64_t total = 0;
  for (;;) {
    const ssize_t n = ::read(file.fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error("cannot read " + name, "a readable file", reason());
    if (n == 0) break;
    total += static_cast<std::uint64_t>(n);
    piece({buffer.data(), static_cast<std::size_t>(n)});
  }
  if (total != static_cast<std::uint64_t>(info.st_size))
    throw Error("file " + name + " changed while it was read", std::to_string(info.st_size) + " bytes",
                std::to_string(total));
}

Bytes read_bytes(const std::filesystem::path& path) {
  Bytes all;
  for_each_piece(path, [&](std::span<const std::byte> piece) { all.insert(all.end(), piece.begin(), piece.end()); });
  return all;
}

void write_bytes(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces) {
  static std::atomic<unsigned> serial{0};
  const std::string name = printable(path.string());
  const std::string temporary =
      path.string() + ".part-" + std::to_string(::getpid()) + "-" + std::to_string(serial.fetch_add(1));
  try {
    const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.fd < 0) throw Error("cannot create a file beside " + name, "a writable directory", reason());
    for (const std::span<const std::byte> piece : pieces) write_all(file.fd, piece, name);
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      throw Error("cannot write file " + name, "a path that can be replaced", reason());
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void write_bytes(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  write_bytes(path, std::span<const std::span<const std::byte>>(&bytes, 1));
}

std::string printable(const std::string& text) {
  static const char* const digits = "0123456789abcdef";
  std::string out = "'";
  for (std::size_t i = 0; i < std::min<std::size_t>(text.size(), 80); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x7f)
      out += text[i];
    else
      out += std::string("\\x") + digits[c >> 4] + digits[c & 15];
  }
  return out + (text.size() > 80 ? "...'" : "'");
}

}  // namespace assay
