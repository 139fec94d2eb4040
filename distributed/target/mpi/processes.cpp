// The group ranks:mpi: processes that mpirun starts at the first call and that stay until the target goes.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "distributed/target/mpi/wire.hpp"
#include "distributed/target/ranks.hpp"

namespace assay {
namespace {

constexpr int processes = 4;
constexpr std::chrono::seconds start_deadline{60}, answer_deadline{90};  // longer than a communicator's own deadline

/// mpirun, its processes, and a socket to each. The destructor closes the sockets, which ends the processes.
class Mpirun {
 public:
  Mpirun() {
    std::string folder = (std::filesystem::temp_directory_path() / "assay_ranks_XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw Error("ranks:mpi", "a folder for a socket", std::strerror(errno));
    folder_ = folder;
    int listening = -1;
    try {
      listening = listen_at(folder_ / "socket");
      start();
      for (int i = 0; i < processes; ++i) accept_from(listening);
    } catch (const Error&) {
      if (listening >= 0) close(listening);
      end();
      throw;
    }
    close(listening);
  }
  ~Mpirun() { end(); }
  Mpirun(const Mpirun&) = delete;
  Mpirun& operator=(const Mpirun&) = delete;

  /// The answer of rank 0. Throws Error if the processes have ended or do not answer.
  SafetensorsFile ask(const SafetensorsFile& request) {
    for (const int s : sockets_)
      if (!send_file(s, request)) throw Error("ranks:mpi", "its processes", "that they have ended: " + last_words());
    pollfd answer{sockets_[0], POLLIN, 0};
    const int ready = poll(&answer, 1, static_cast<int>(std::chrono::milliseconds(answer_deadline).count()));
    if (ready <= 0)
      throw Error("ranks:mpi", "an answer within " + std::to_string(answer_deadline.count()) + " s", "none");
    auto file = receive_file(sockets_[0]);
    if (!file) throw Error("ranks:mpi", "an answer", "the end of its processes: " + last_words());
    return *file;
  }

 private:
  int listen_at(const std::filesystem::path& path) {
    const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_un address = socket_address(path.string());
    if (s < 0 || bind(s, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(s, processes) != 0)
      throw Error("ranks:mpi", "a socket at " + path.string(), std::strerror(errno));
    return s;
  }

  void start() {
    // Slots, and root, are refused by Open MPI unless it is told; ASSAY_MPI_FLAGS says so where it is Open MPI.
    std::vector<std::string> words{ASSAY_MPIEXEC};
    for (const char* flag : {ASSAY_MPI_FLAGS}) words.emplace_back(flag);
    const auto rank = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "assay_mpi_rank";
    words.insert(words.end(),
                 {ASSAY_MPI_NUMPROC, std::to_string(processes), rank.string(), (folder_ / "socket").string()});
    std::vector<char*> arguments;
    for (std::string& word : words)
      if (!word.empty()) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const std::string log = (folder_ / "log").string();
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    const int error = posix_spawn(&pid_, arguments[0], &files, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) throw Error("ranks:mpi", "that " + words[0] + " starts", std::strerror(error));
  }

  /// The next process that connects, and which rank it is.
  void accept_from(int listening) {
    const auto until = std::chrono::steady_clock::now() + start_deadline;
    pollfd waiting{listening, POLLIN, 0};
    while (poll(&waiting, 1, 100) <= 0)
      if (waitpid(pid_, nullptr, WNOHANG) != 0 || std::chrono::steady_clock::now() > until)
        throw Error("ranks:mpi", std::to_string(processes) + " processes that connect", last_words());
    const int s = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    std::int32_t rank = -1;
    if (s < 0 || recv(s, &rank, sizeof rank, MSG_WAITALL) != sizeof rank || rank < 0 || rank >= processes)
      throw Error("ranks:mpi", "the number of a rank", std::to_string(rank));
    sockets_[static_cast<std::size_t>(rank)] = s;
  }

  void end() {
    for (int& s : sockets_)
      if (s >= 0) close(s);
    std::fill(sockets_.begin(), sockets_.end(), -1);
    for (int i = 0; pid_ > 0 && i < 50; ++i) {
      if (waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    if (pid_ > 0) {
      kill(pid_, SIGTERM);
      waitpid(pid_, nullptr, 0);
    }
    pid_ = 0;
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  /// The end of what mpirun and the processes printed.
  std::string last_words() const {
    std::ifstream log(folder_ / "log");
    std::string all((std::istreambuf_iterator<char>(log)), {});
    return all.empty() ? "no word" : all.substr(all.size() > 500 ? all.size() - 500 : 0);
  }

  std::filesystem::path folder_;
  pid_t pid_ = 0;
  std::vector<int> sockets_ = std::vector<int>(processes, -1);
};

class Processes : public GroupTarget {
 public:
  std::string name() const override { return "ranks:mpi"; }

 protected:
  bool has_library() const override { return true; }
  void ask(const RanksOp&, const Call& call, const Layout& layout, Answer& answer) override {
    SafetensorsFile request = call_to_file(call);
    request.metadata["delays"] = std::to_string(layout.delays);
    try {
      if (running_ == nullptr) running_ = std::make_unique<Mpirun>();
      answer = answer_from_file(running_->ask(request), call);
    } catch (const Error& e) {
      running_.reset();  // the next call begins afresh
      answer = {Answer::Kind::broken, e.what(), {}, {}, {}, {}};
    }
  }

 private:
  std::unique_ptr<Mpirun> running_;
};

const RegisterGroup mpi("ranks:mpi", [] { return std::unique_ptr<Target>(new Processes); });

}  // namespace
}  // namespace assay
