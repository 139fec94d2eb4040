#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace assay {

struct Ran {
  int code = -1;
  std::string text;  // both streams
};

/// The command lies beside the tests.
inline std::string binary() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string() + "/assay";
}

/// Runs a shell line in which `assay` is the command.
inline Ran shell(const std::string& line) {
  Ran ran;
  const std::string all = "assay() { '" + binary() + "' \"$@\"; }; { " + line + "; } 2>&1";
  FILE* pipe = popen(all.c_str(), "r");
  if (pipe == nullptr) return ran;
  char buffer[4096];
  for (std::size_t n = 0; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) ran.text.append(buffer, n);
  const int status = pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

/// A folder of its own that goes when the test ends.
class Folder {
 public:
  Folder() {
    char name[] = "assay_command_XXXXXX";
    path = std::filesystem::absolute(mkdtemp(name)).string();
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

}  // namespace assay
