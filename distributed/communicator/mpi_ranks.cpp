#include "distributed/communicator/mpi_ranks.hpp"

#include <mpi.h>

#include "distributed/communicator/mpi_transport.hpp"
#include "reference/core/error.hpp"

namespace assay {

MpiSession::MpiSession(int& argc, char**& argv) {
  int provided = 0;
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    throw Error("MPI_Init_thread", "success", "an error");
}

MpiSession::~MpiSession() { MPI_Finalize(); }

int MpiSession::rank() const {
  int r = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  return r;
}

int MpiSession::size() const {
  int n = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  return n;
}

void MpiSession::run(int n, const std::function<void(Communicator&)>& body, RunOptions options) {
  if (n < 1 || n > size())
    throw Error("ranks of an MPI run", "1 to " + std::to_string(size()) + " (mpirun -n)", std::to_string(n));
  MPI_Comm some = MPI_COMM_NULL;
  if (MPI_Comm_split(MPI_COMM_WORLD, rank() < n ? 0 : MPI_UNDEFINED, rank(), &some) != MPI_SUCCESS)
    throw Error("MPI_Comm_split", "success", "an error");
  if (some == MPI_COMM_NULL) return;
  std::optional<Failure> failure;
  {
    MpiTransport transport(some, options.deadline);
    try {
      Communicator communicator(transport);
      body(communicator);
    } catch (const std::exception& e) {
      transport.fail(e.what());
    } catch (...) {
      transport.fail("an exception that is no std::exception");
    }
    failure = transport.finish();
  }
  MPI_Comm_free(&some);
  if (failure) throw Error(failure->text());
}

}  // namespace assay
