#include "distributed/communicator/mpi_ranks.hpp"

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>

#include "distributed/communicator/mpi_transport.hpp"
#include "distributed/communicator/ranks.hpp"
#include "reference/core/error.hpp"

namespace assay {
namespace {

/// The text of the failure, "" if there was none.
std::string run_here(MPI_Comm ranks, const std::function<void(Communicator&)>& body, const RanksOptions& options) {
  MpiTransport transport(ranks, options.deadline);
  run_body(transport, body);
  const std::optional<RankFailure> failure = transport.finish();
  return failure ? failure->text() : "";
}

}  // namespace

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

void MpiSession::run(int n, const std::function<void(Communicator&)>& body, RanksOptions options) {
  if (n < 1 || n > size())
    throw Error("ranks of an MPI run", "1 to " + std::to_string(size()) + " (mpirun -n)", std::to_string(n));
  MPI_Comm some = MPI_COMM_NULL;
  if (MPI_Comm_split(MPI_COMM_WORLD, rank() < n ? 0 : MPI_UNDEFINED, rank(), &some) != MPI_SUCCESS)
    throw Error("MPI_Comm_split", "success", "an error");
  std::string failure;
  if (some != MPI_COMM_NULL) {
    failure = run_here(some, body, options);
    MPI_Comm_free(&some);
  }
  // What rank 0 knows is the outcome, so that all processes go on together or not at all.
  std::int64_t length = static_cast<std::int64_t>(failure.size());
  MPI_Bcast(&length, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  failure.resize(static_cast<std::size_t>(length));
  MPI_Bcast(failure.data(), static_cast<int>(length), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (length > 0) throw Error(failure);
}

}  // namespace assay
