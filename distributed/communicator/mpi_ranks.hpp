#pragma once
#include <functional>

#include "distributed/communicator/communicator.hpp"

namespace assay {

/// MPI for the time of this object's life: make one first thing in main(). The processes are the ranks.
class MpiSession {
 public:
  MpiSession(int& argc, char**& argv);
  ~MpiSession();
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;
  int rank() const;
  int size() const;

  /// run_ranks over the processes 0 .. n-1: every process calls this with the same n, each runs the body as its own
  /// rank, and those from n on do nothing. MPI moves bytes; what is computed has the same bits as with run_ranks. A
  /// process that never gets here is not noticed by the deadline, which begins with the body.
  /// @throws Error, the same on every process, if a rank failed, naming it and why. Another run may follow.
  void run(int n, const std::function<void(Communicator&)>& body, RanksOptions options = {});
};

}  // namespace assay
